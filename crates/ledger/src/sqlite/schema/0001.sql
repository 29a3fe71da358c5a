-- Rows are small and are appended in the order of reservation, so all entries in flight share a few
-- pages at the end. No column changes its width on the way from reserved to settled: the state
-- takes one byte, times take four, and the numbers of answers and receipts take six, because they
-- start at 2^40. So SQLite overwrites the row in place and never splits a page for it.
CREATE TABLE entry (
    -- Never used twice in one run of the server. A second reservation of an authorization gets a
    -- new number.
    id INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    -- Digest of network, asset, payer and nonce.
    authorization BLOB NOT NULL,
    -- Digest of method, path, query and body.
    request BLOB NOT NULL,
    payer BLOB NOT NULL,
    -- Unix seconds.
    valid_before INTEGER NOT NULL,
    reserved_at INTEGER NOT NULL,
    -- The time of the last change of `state`.
    changed_at INTEGER NOT NULL,
    -- The row in `answer`, from settling until the entry is released or past its retention. 2^40 is
    -- none.
    answer INTEGER NOT NULL DEFAULT 1099511627776,
    -- The row in `receipt` of a settled entry. 2^40 is none.
    receipt INTEGER NOT NULL DEFAULT 1099511627776,
    -- For operators: the amount in smallest units, and the request.
    amount TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    payment_id TEXT,
    -- The transaction of an unknown settlement, as far as it is known.
    transaction_hash TEXT,
    -- The reason why the entry was released or is unknown.
    cause TEXT
) STRICT;

CREATE UNIQUE INDEX entry_authorization ON entry (authorization);
-- Without released entries (state 7): one payer can make any number of them with one identifier, at
-- no cost.
CREATE INDEX entry_payment_id ON entry (payer, payment_id) WHERE payment_id IS NOT NULL AND state <> 7;
-- The entries that are not decided. They are few, whatever the size of the ledger.
CREATE INDEX entry_open ON entry (state) WHERE state < 6;

-- Large rows are written once, in the order of settlement, each at the end of its table.
CREATE TABLE answer (
    id INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL,
    payload TEXT NOT NULL,
    requirements TEXT NOT NULL,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    body_digest BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE receipt (
    id INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL,
    transaction_hash TEXT NOT NULL,
    header TEXT NOT NULL
) STRICT;

-- A probe. It is written and deleted again to see whether writing works.
CREATE TABLE probe (
    id INTEGER PRIMARY KEY,
    padding BLOB NOT NULL
) STRICT;
