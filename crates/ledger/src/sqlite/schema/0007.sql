-- What uncharged work of those without credit has taken, more than nothing: of their pool (the empty name), and of the shares of
-- client addresses (the address as text). It comes back with time, so `missing` micro-USD is as of `at`, in Unix seconds.
CREATE TABLE newcomer (
    name TEXT PRIMARY KEY,
    missing INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
