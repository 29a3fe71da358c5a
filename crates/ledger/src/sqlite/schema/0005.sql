-- Maps authorizations to their entries. The digests of old entries are kept in generations: each is
-- written once, and deleted when its entries are. The digests of the newest entries are in no
-- generation and are read from the entries themselves. All digests of a ledger that comes from an
-- older version are read in this way once.
DROP TABLE seen;
DROP TABLE sweep;

CREATE TABLE generation (
    -- Generations are numbered upwards.
    id INTEGER PRIMARY KEY,
    -- The newest entry. The oldest one is the first after the entries of the previous generation.
    last INTEGER NOT NULL,
    -- Tells for most digests that they are not in the generation.
    filter BLOB NOT NULL
) STRICT;

CREATE TABLE bucket (
    -- 256 times the number of the generation, plus the first byte of the digests.
    id INTEGER PRIMARY KEY,
    -- For each digest its 16 bytes and the 8 bytes of its entry's number, in order.
    digests BLOB NOT NULL
) STRICT;
