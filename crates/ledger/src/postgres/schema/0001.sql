-- The numbers of entries. A number is never used twice: an authorization that is reserved again
-- gets a new one.
CREATE SEQUENCE ledger_entry_id AS bigint;

CREATE TABLE ledger_entry (
    id bigint PRIMARY KEY,
    -- Identifies the reservation, which recognises its own row by it when the answer to it was
    -- lost.
    attempt bytea NOT NULL,
    -- The instance that works on the entry, or finds out what became of it.
    owner bigint NOT NULL,
    state smallint NOT NULL,
    -- Marks the entries that have to be found: 1 in flight, 2 unknown, 3 undecidable. 0 is decided.
    open smallint NOT NULL,
    -- 16 bytes of the digest of network, asset, payer and nonce. Each authorization has one entry.
    authorization_digest bytea NOT NULL CONSTRAINT ledger_entry_authorization UNIQUE,
    -- `request` is the digest of the request with its payment. `content` is the digest of the
    -- request alone; only entries with a payment identifier have it.
    request bytea NOT NULL,
    content bytea,
    network text,
    asset bytea,
    payer bytea NOT NULL,
    nonce bytea,
    -- Unix seconds.
    valid_before bigint NOT NULL,
    reserved_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    amount numeric(78, 0) NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    payment_id text,
    -- True if a settlement was requested, for this entry or an earlier one of the authorization.
    attempted boolean NOT NULL DEFAULT false,
    -- True if the answer is about its payer only.
    private boolean NOT NULL DEFAULT false,
    -- True if the entry has a row in `ledger_answer`.
    answered boolean NOT NULL DEFAULT false,
    -- True if the entry is released for good: its payer was told to sign a new payment.
    retired boolean NOT NULL DEFAULT false,
    transaction_hash text,
    -- The header of the receipt. It is kept as long as the answer.
    receipt text,
    cause text
) WITH (fillfactor = 70);

-- A payment identifier of a payer belongs to one authorization. A released entry has none any more.
CREATE UNIQUE INDEX ledger_entry_payment_id ON ledger_entry (payer, payment_id) WHERE payment_id IS NOT NULL;
-- The entries that are not decided. They are few, whatever the size of the ledger.
CREATE INDEX ledger_entry_open ON ledger_entry (open, id) WHERE open <> 0;

CREATE TABLE ledger_answer (
    entry bigint PRIMARY KEY,
    payload text NOT NULL,
    requirements text NOT NULL,
    status smallint NOT NULL,
    headers text NOT NULL,
    body_digest bytea NOT NULL,
    body bytea NOT NULL
);
-- No time is spent on compressing answers: they are small, or nobody asked for compression.
ALTER TABLE ledger_answer ALTER COLUMN body SET STORAGE EXTERNAL;

-- `paid` is the sum of a payer's settled payments. `micro_usd` is the rest of the credit that they
-- have earned.
CREATE TABLE ledger_credit (
    payer bytea PRIMARY KEY,
    micro_usd bigint NOT NULL,
    paid bigint NOT NULL
) WITH (fillfactor = 70);

-- Deficits of payers without credit: uncharged work took them from the payers' pool (the empty
-- name) and from the shares of addresses. A deficit refills with time, so `missing` is as of `at`,
-- in Unix seconds.
CREATE TABLE ledger_newcomer (
    name text PRIMARY KEY,
    missing bigint NOT NULL,
    at bigint NOT NULL
) WITH (fillfactor = 50);

-- A probe. It is written to see whether writing works.
CREATE TABLE ledger_probe (
    instance bigint PRIMARY KEY,
    at timestamptz NOT NULL
);
