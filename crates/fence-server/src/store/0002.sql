-- The server looks for work every few seconds. With these indexes, neither half of the query goes
-- through plans that ended long ago.
CREATE INDEX submission_pending ON submission (is_open, accepted_at) WHERE is_open = 1;
CREATE INDEX submission_changed ON submission (changed_at, accepted_at);

-- Coins that the service has given, or is about to give, to an account for the gas of its plans.
-- Each transfer has one row, under its key.
CREATE TABLE top_up (
    key TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    at INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX top_up_of_day ON top_up (at, account, micro_usd);
