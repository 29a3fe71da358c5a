CREATE TABLE top_up (
    key       TEXT PRIMARY KEY,
    -- A CAIP-10 id. Empty for top-ups that were carried over from the fence's records: of those,
    -- only the account is known.
    owner     TEXT NOT NULL,
    account   TEXT NOT NULL,
    at        INTEGER NOT NULL,
    chain_id  INTEGER,
    -- Decimal digits. NULL for top-ups that were carried over.
    wei       TEXT,
    micro_usd INTEGER NOT NULL
) STRICT;

CREATE INDEX top_up_at ON top_up (at);
CREATE INDEX top_up_owner ON top_up (owner);
CREATE INDEX top_up_account ON top_up (account) WHERE owner = '';
