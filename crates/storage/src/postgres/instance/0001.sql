-- The instances that share this database. An instance is alive until its lease ends, by the
-- database's clock.
CREATE TABLE instance (
    -- A number is never used again.
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lease_until timestamptz NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
