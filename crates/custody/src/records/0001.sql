-- The wallet of each owner. It is recorded once and never changes.
CREATE TABLE custody_wallet (
    -- CAIP-10
    owner TEXT PRIMARY KEY,
    -- 20 bytes, or NULL while the wallet is being made.
    address BLOB UNIQUE,
    -- Unix seconds
    begun_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
