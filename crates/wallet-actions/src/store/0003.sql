-- Ended intents are watched until no block can change what they report.
ALTER TABLE intent ADD COLUMN is_final INTEGER NOT NULL DEFAULT 0;

CREATE INDEX intent_unsettled ON intent (created_at)
    WHERE is_final = 0 AND state IN ('completed', 'partial', 'failed', 'cancelled');

DROP INDEX intent_open;
CREATE INDEX intent_open ON intent (created_at) WHERE state IN ('running', 'following', 'reopened');
