-- The count of each period, for example of the calls to an upstream in a month.
CREATE TABLE counter (
    name TEXT NOT NULL,
    -- Unix seconds: the beginning of the period.
    period INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (name, period)
) STRICT, WITHOUT ROWID;
