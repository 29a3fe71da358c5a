-- A lease has one holder at a time.
CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    -- Unix seconds; from then on anyone may take the lease over.
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The latest edition of each dataset.
CREATE TABLE dataset (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    snapshot_id TEXT NOT NULL,
    -- Unix seconds: the oldest upstream time in the body.
    as_of INTEGER NOT NULL,
    inputs_sha256 BLOB NOT NULL,
    written_at INTEGER NOT NULL,
    -- Detects a body that is not as it was written.
    body_sha256 BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE artifact (
    id INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    media_type TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- Expired artifacts and the total size are read without touching a body.
CREATE INDEX artifact_expiry ON artifact (expires_at, size);
