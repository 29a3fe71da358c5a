-- What was used of budgets with a sliding window, in slices of time.
CREATE TABLE window_use (
    name TEXT NOT NULL,
    -- Unix seconds: the beginning of the slice.
    slice INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    PRIMARY KEY (name, slice)
) STRICT, WITHOUT ROWID;

-- What was left of amounts that refill with time.
CREATE TABLE level (
    name TEXT PRIMARY KEY,
    amount INTEGER NOT NULL,
    -- Unix milliseconds: when so much was left.
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Beyond their number those that are oldest go.
CREATE INDEX level_age ON level (at);
