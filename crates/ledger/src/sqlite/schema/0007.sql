-- Deficits of payers without credit, each more than zero: uncharged work took them from the payers'
-- pool (the empty name) and from the shares of client addresses (the address as text). A deficit
-- refills with time, so `missing`, in micro-USD, is as of `at`, in Unix seconds.
CREATE TABLE newcomer (
    name TEXT PRIMARY KEY,
    missing INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
