-- What there is to do is looked for every few seconds: neither half of the question goes through plans that ended long ago.
CREATE INDEX submission_pending ON submission (is_open, accepted_at) WHERE is_open = 1;
CREATE INDEX submission_changed ON submission (changed_at, accepted_at);

-- Coins that the service gave, or is about to give, an account for the gas of its plans; one row for each transfer, by its key.
CREATE TABLE top_up (
    key TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    at INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX top_up_of_day ON top_up (at, account, micro_usd);
