-- Where the entry of an authorization is (sqlite/seen.rs): digests of old entries, a generation of them at a time, which is
-- written once and deleted when its entries are. Those of the newest entries are in no generation and are read from the
-- entries themselves; so are all of a ledger that comes from an older version, once.
DROP TABLE seen;
DROP TABLE sweep;

CREATE TABLE generation (
    -- Counts up.
    id INTEGER PRIMARY KEY,
    -- Its newest entry. Its oldest is the first one after those of the generation before it.
    last INTEGER NOT NULL,
    -- Says of most digests that they are not in it.
    filter BLOB NOT NULL
) STRICT;

CREATE TABLE bucket (
    -- 256 times the number of the generation, and the first byte of the digests.
    id INTEGER PRIMARY KEY,
    -- For each digest its 16 bytes and the 8 of its entry's number, in order.
    digests BLOB NOT NULL
) STRICT;
