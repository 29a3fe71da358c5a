-- The transactions of all lanes. Values that queries look for have columns; everything else is in
-- `body`, as JSON.
CREATE TABLE record (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    chain_id INTEGER NOT NULL,
    account TEXT NOT NULL,
    state TEXT NOT NULL,
    nonce INTEGER,
    is_final INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- Writing a nonce here claims it. Of any number of claims of one nonce, one succeeds.
CREATE UNIQUE INDEX record_nonce ON record (chain_id, account, nonce) WHERE nonce IS NOT NULL;

CREATE INDEX record_live ON record (chain_id, account, id) WHERE is_final = 0;

CREATE INDEX record_final ON record (submitted_at) WHERE is_final = 1;

-- The holder of each lane. A row stays for good, so that its token only rises.
CREATE TABLE lane (
    chain_id INTEGER NOT NULL,
    account TEXT NOT NULL,
    holder TEXT NOT NULL,
    token INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (chain_id, account)
) STRICT, WITHOUT ROWID;
