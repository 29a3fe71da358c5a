-- The instances that share this database. One is alive until its lease ends; the clock is the database's.
CREATE TABLE instance (
    -- Never used again.
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lease_until timestamptz NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
