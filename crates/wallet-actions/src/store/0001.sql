CREATE TABLE intent (
    id         TEXT PRIMARY KEY,
    payment    BLOB NOT NULL UNIQUE,
    owner      TEXT NOT NULL,
    wallet     TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    body       TEXT NOT NULL
) STRICT;

-- A wallet does one thing at a time. An intent that waits for a mint on another chain does not
-- block it.
CREATE UNIQUE INDEX intent_running ON intent (wallet) WHERE state = 'running';
CREATE INDEX intent_open ON intent (created_at) WHERE state IN ('running', 'following');
CREATE INDEX intent_owner ON intent (owner, created_at);
CREATE INDEX intent_created ON intent (created_at);

CREATE TABLE top_up (
    key       TEXT PRIMARY KEY,
    owner     TEXT NOT NULL,
    at        INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL
) STRICT;

CREATE INDEX top_up_at ON top_up (at);
CREATE INDEX top_up_owner ON top_up (owner);
