CREATE TABLE gas_top_up (
    key text PRIMARY KEY,
    -- A CAIP-10 id.
    owner text NOT NULL,
    account text NOT NULL,
    at bigint NOT NULL,
    chain_id bigint NOT NULL,
    -- Decimal digits.
    wei text NOT NULL,
    micro_usd bigint NOT NULL
);

CREATE INDEX gas_top_up_at ON gas_top_up (at);

CREATE INDEX gas_top_up_owner ON gas_top_up (owner);
