-- Intents. Values that queries look for have columns; `body` has everything, as JSON text.
CREATE TABLE wallets_intent (
    id text COLLATE "C" PRIMARY KEY,
    payment bytea NOT NULL,
    owner text NOT NULL,
    wallet text NOT NULL,
    state text NOT NULL,
    is_final boolean NOT NULL DEFAULT false,
    created_at bigint NOT NULL,
    revision bigint NOT NULL,
    body text NOT NULL,
    CONSTRAINT wallets_intent_payment UNIQUE (payment)
);

-- A wallet does one thing at a time. An intent that waits for a mint on another chain does not
-- block it.
CREATE UNIQUE INDEX wallets_intent_running ON wallets_intent (wallet) WHERE state = 'running';

CREATE INDEX wallets_intent_open ON wallets_intent (created_at, id)
    WHERE state IN ('running', 'following', 'reopened');

-- Ended intents are watched until no block can change what they report.
CREATE INDEX wallets_intent_unsettled ON wallets_intent (created_at, id)
    WHERE NOT is_final AND state IN ('completed', 'partial', 'failed', 'cancelled');

CREATE INDEX wallets_intent_owner ON wallets_intent (owner, created_at);

CREATE INDEX wallets_intent_created ON wallets_intent (created_at, id);

-- Payments that can begin nothing any more, each with the reason. The first reason is kept.
CREATE TABLE wallets_forbidden (
    payment bytea PRIMARY KEY,
    reason text NOT NULL,
    at bigint NOT NULL
);
