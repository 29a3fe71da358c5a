-- The transactions of all lanes. Values that queries look for have columns; everything else is in
-- `body`, as JSON text.
CREATE TABLE sender_record (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The book of the record. Settlements and sub-wallets have books and lanes of their own.
    book text NOT NULL,
    key text NOT NULL,
    chain_id bigint NOT NULL,
    account text NOT NULL,
    state text NOT NULL,
    nonce bigint,
    is_final boolean NOT NULL,
    revision bigint NOT NULL,
    submitted_at bigint NOT NULL,
    body text NOT NULL,
    CONSTRAINT sender_record_key UNIQUE (book, key)
) WITH (fillfactor = 70);

-- Writing a nonce here claims it. Of any number of claims of one nonce, one succeeds.
CREATE UNIQUE INDEX sender_record_nonce ON sender_record (chain_id, account, nonce) WHERE nonce IS NOT NULL;

CREATE INDEX sender_record_live ON sender_record (book, chain_id, account, id) WHERE NOT is_final;

CREATE INDEX sender_record_final ON sender_record (submitted_at) WHERE is_final;

-- The holder of each lane. A row stays for good, so that its token only rises.
CREATE TABLE sender_lane (
    chain_id bigint NOT NULL,
    account text NOT NULL,
    holder text NOT NULL,
    token bigint NOT NULL,
    until bigint NOT NULL,
    PRIMARY KEY (chain_id, account)
) WITH (fillfactor = 50);
