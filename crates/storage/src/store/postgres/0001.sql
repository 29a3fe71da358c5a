-- A lease has one holder at a time. `expires_at` is in Unix seconds; from then on anyone may take
-- the lease over.
CREATE TABLE server_lease (
    name text PRIMARY KEY,
    holder text NOT NULL,
    expires_at bigint NOT NULL
) WITH (fillfactor = 50);

-- The latest edition of each dataset.
CREATE TABLE server_dataset (
    name text PRIMARY KEY,
    snapshot_id text NOT NULL,
    -- Unix seconds: the oldest upstream time in the body.
    as_of bigint NOT NULL,
    inputs_sha256 bytea NOT NULL,
    written_at bigint NOT NULL,
    body_sha256 bytea NOT NULL,
    body bytea NOT NULL
);

CREATE TABLE server_artifact (
    sha256 bytea PRIMARY KEY,
    media_type text NOT NULL,
    expires_at bigint NOT NULL,
    size bigint NOT NULL,
    body bytea NOT NULL
);
-- Images are already compressed.
ALTER TABLE server_artifact ALTER COLUMN body SET STORAGE EXTERNAL;
-- Expired artifacts and the total size are read without touching a body.
CREATE INDEX server_artifact_expiry ON server_artifact (expires_at) INCLUDE (size);

-- The count of each period. `period` is the beginning of the period, in Unix seconds.
CREATE TABLE server_counter (
    name text NOT NULL,
    period bigint NOT NULL,
    total bigint NOT NULL,
    PRIMARY KEY (name, period)
) WITH (fillfactor = 50);

-- The use of limits with a sliding window, in slices of time. `slice` is the beginning of the
-- slice, in Unix seconds.
CREATE TABLE server_window_use (
    name text NOT NULL,
    slice bigint NOT NULL,
    weight bigint NOT NULL,
    PRIMARY KEY (name, slice)
) WITH (fillfactor = 50);

-- Amounts that refill. `amount` was left at `at`, in Unix milliseconds.
CREATE TABLE server_level (
    name text PRIMARY KEY,
    amount bigint NOT NULL,
    at bigint NOT NULL
) WITH (fillfactor = 50);
