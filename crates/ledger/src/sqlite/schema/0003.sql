-- Where the entry of an authorization is. Digests are random, so they come here many at a time and in their order, not one
-- by one as they are claimed (sqlite/seen.rs).
CREATE TABLE seen (
    authorization BLOB PRIMARY KEY,
    entry INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO seen (authorization, entry)
SELECT authorization, id FROM entry ORDER BY authorization;

DROP INDEX entry_authorization;

-- How far they have come: of the entries up to `past` all are in `seen`, of the others up to `until` those whose digest is
-- not above `reached`, and of later ones none.
CREATE TABLE sweep (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    past INTEGER NOT NULL,
    until INTEGER NOT NULL,
    reached BLOB NOT NULL
) STRICT;

INSERT INTO sweep (id, past, until, reached)
SELECT 1, coalesce(max(id), 0), coalesce(max(id), 0), x'' FROM entry;
