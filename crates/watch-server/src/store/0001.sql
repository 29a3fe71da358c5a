-- One row for each mandate. `place` is its order by creation. `revision` rises with every write, so
-- that a write can require that nothing has been written since it was judged. `state` is the
-- mandate and the position of its audit, as JSON. The columns beside it repeat values that queries
-- look for. `due_at` is NULL when nothing is left to do. `holder`, `token` and `until` are the
-- lease for checking the mandate; `token` only rises. Times are Unix seconds.
CREATE TABLE mandate (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    has_ended INTEGER NOT NULL,
    due_at INTEGER,
    state TEXT NOT NULL,
    holder TEXT NOT NULL DEFAULT '',
    token INTEGER NOT NULL DEFAULT 0,
    until INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX mandate_of_owner ON mandate (owner, place);
CREATE INDEX mandate_due ON mandate (due_at, place) WHERE due_at IS NOT NULL;

-- The audit of each mandate, as JSON. Rows are added and never changed.
CREATE TABLE record (
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (id, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record
BEGIN
    SELECT RAISE(ABORT, 'a record of the audit is never changed');
END;

CREATE TRIGGER record_is_not_deleted BEFORE DELETE ON record
BEGIN
    SELECT RAISE(ABORT, 'a record of the audit is never deleted');
END;
