-- Maps authorizations to their entries. Digests are random, so they are added many at a time and in
-- their order, not one by one as they are claimed.
CREATE TABLE seen (
    authorization BLOB PRIMARY KEY,
    entry INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO seen (authorization, entry)
SELECT authorization, id FROM entry ORDER BY authorization;

DROP INDEX entry_authorization;

-- The progress of adding digests. `seen` has all entries up to `past`. Of the other entries up to
-- `until` it has those whose digest is not above `reached`. It has no later entries.
CREATE TABLE sweep (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    past INTEGER NOT NULL,
    until INTEGER NOT NULL,
    reached BLOB NOT NULL
) STRICT;

INSERT INTO sweep (id, past, until, reached)
SELECT 1, coalesce(max(id), 0), coalesce(max(id), 0), x'' FROM entry;
