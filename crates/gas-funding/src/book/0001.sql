CREATE TABLE top_up (
    key       TEXT PRIMARY KEY,
    -- A CAIP-10 id. Of what the fence's records held before there was this book only the account is
    -- known, and the text is empty.
    owner     TEXT NOT NULL,
    account   TEXT NOT NULL,
    at        INTEGER NOT NULL,
    chain_id  INTEGER,
    -- Decimal digits. Unknown of what was carried over.
    wei       TEXT,
    micro_usd INTEGER NOT NULL
) STRICT;

CREATE INDEX top_up_at ON top_up (at);
CREATE INDEX top_up_owner ON top_up (owner);
CREATE INDEX top_up_account ON top_up (account) WHERE owner = '';
