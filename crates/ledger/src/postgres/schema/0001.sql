-- Numbers of entries: never used twice. An authorization that is reserved again has a new number.
CREATE SEQUENCE ledger_entry_id AS bigint;

CREATE TABLE ledger_entry (
    id bigint PRIMARY KEY,
    -- By which the reservation recognises its own row when the answer to it was lost.
    attempt bytea NOT NULL,
    -- The instance that works on the entry, or looks what became of it.
    owner bigint NOT NULL,
    state smallint NOT NULL,
    -- Which entries somebody has to find: 1 in flight, 2 unknown, 3 undecidable, 0 decided.
    open smallint NOT NULL,
    -- 16 bytes of the digest of network, asset, payer and nonce: one entry for each authorization.
    authorization_digest bytea NOT NULL CONSTRAINT ledger_entry_authorization UNIQUE,
    -- The digest of the request with its payment, and of the request alone (of entries with a payment identifier).
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
    -- A settlement was asked for, for this entry or an earlier one of the authorization.
    attempted boolean NOT NULL DEFAULT false,
    -- The answer tells of its payer alone.
    private boolean NOT NULL DEFAULT false,
    -- There is a row in ledger_answer.
    answered boolean NOT NULL DEFAULT false,
    -- Released for good: its payer was told to sign a new payment.
    retired boolean NOT NULL DEFAULT false,
    transaction_hash text,
    -- The header of the receipt, as long as the answer is kept.
    receipt text,
    cause text
) WITH (fillfactor = 70);

-- One authorization for each payment identifier of a payer. A released entry has none any more.
CREATE UNIQUE INDEX ledger_entry_payment_id ON ledger_entry (payer, payment_id) WHERE payment_id IS NOT NULL;
-- Few, whatever the size of the ledger.
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
-- Answers are small or compressed by nobody's wish: no time is spent on it.
ALTER TABLE ledger_answer ALTER COLUMN body SET STORAGE EXTERNAL;

-- What the settled payments of a payer have come to (paid), and what is left of the credit that they have earned.
CREATE TABLE ledger_credit (
    payer bytea PRIMARY KEY,
    micro_usd bigint NOT NULL,
    paid bigint NOT NULL
) WITH (fillfactor = 70);

-- What uncharged work of payers without credit has taken, of their pool (the empty name) and of the shares of addresses. It comes
-- back with time: so much was missing at that Unix second.
CREATE TABLE ledger_newcomer (
    name text PRIMARY KEY,
    missing bigint NOT NULL,
    at bigint NOT NULL
) WITH (fillfactor = 50);

-- Written to see whether writing works.
CREATE TABLE ledger_probe (
    instance bigint PRIMARY KEY,
    at timestamptz NOT NULL
);
