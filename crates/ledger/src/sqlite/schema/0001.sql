-- Rows are small and are appended in the order of reservation: whatever is in flight shares a few pages at the end.
-- On the way from reserved to settled no column changes its width (the state takes one byte, times four, numbers of
-- answers and receipts six, because they start at 2^40), so that SQLite overwrites the row in place and never splits
-- a page for it.
CREATE TABLE entry (
    -- Never used twice in one run of the server; a second reservation of an authorization has a new number.
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
    -- When `state` last changed.
    changed_at INTEGER NOT NULL,
    -- Row of `answer`, from settling on, until it is released or past its retention; 2^40 is none.
    answer INTEGER NOT NULL DEFAULT 1099511627776,
    -- Row of `receipt`, once settled; 2^40 is none.
    receipt INTEGER NOT NULL DEFAULT 1099511627776,
    -- For operators: smallest units, and what was asked for.
    amount TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    payment_id TEXT,
    -- What is known of an unknown settlement.
    transaction_hash TEXT,
    -- Why it was released or is unknown.
    cause TEXT
) STRICT;

CREATE UNIQUE INDEX entry_authorization ON entry (authorization);
-- Without released entries (state 7), of which one payer can make any number with one identifier at no cost.
CREATE INDEX entry_payment_id ON entry (payer, payment_id) WHERE payment_id IS NOT NULL AND state <> 7;
-- The entries that are not decided: few, whatever the size of the ledger.
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

-- Written and deleted again to see whether writing works.
CREATE TABLE probe (
    id INTEGER PRIMARY KEY,
    padding BLOB NOT NULL
) STRICT;
