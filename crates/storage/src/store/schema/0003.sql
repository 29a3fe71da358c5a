-- The use of budgets with a sliding window, in slices of time.
CREATE TABLE window_use (
    name TEXT NOT NULL,
    -- Unix seconds: the beginning of the slice.
    slice INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    PRIMARY KEY (name, slice)
) STRICT, WITHOUT ROWID;

-- Amounts that refill with time.
CREATE TABLE level (
    name TEXT PRIMARY KEY,
    amount INTEGER NOT NULL,
    -- Unix milliseconds: the time at which `amount` was left.
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Serves to delete the oldest rows above the limit of their number.
CREATE INDEX level_age ON level (at);
