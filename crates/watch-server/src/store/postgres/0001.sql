-- One row for each mandate. `state` is the mandate and the position of its audit, as JSON text. The
-- columns beside it repeat values that queries look for. `due_at` is NULL when nothing is left to
-- do. Times are Unix seconds.
CREATE TABLE watch_mandate (
    -- Rises within an owner, because the mandates of one owner are created one after the other.
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL,
    owner text NOT NULL,
    revision bigint NOT NULL,
    expires_at bigint NOT NULL,
    has_ended boolean NOT NULL,
    due_at bigint,
    state text NOT NULL,
    -- The lease for checking the mandate. `token` only rises.
    holder text NOT NULL DEFAULT '',
    token bigint NOT NULL DEFAULT 0,
    until bigint NOT NULL DEFAULT 0,
    CONSTRAINT watch_mandate_id UNIQUE (id)
);

CREATE INDEX watch_mandate_of_owner ON watch_mandate (owner, place);

CREATE INDEX watch_mandate_due ON watch_mandate (due_at, place) WHERE due_at IS NOT NULL;

-- The audit of each mandate, as JSON text. Rows are added and never changed.
CREATE TABLE watch_record (
    id text NOT NULL,
    seq bigint NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (id, seq)
);

CREATE FUNCTION watch_record_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a record of the audit is never changed and never deleted';
END
$$;

CREATE TRIGGER watch_record_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON watch_record
    FOR EACH STATEMENT EXECUTE FUNCTION watch_record_is_kept();
