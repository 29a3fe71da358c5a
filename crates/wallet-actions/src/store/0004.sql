-- Intents whose paid call may still have to be charged. The value of earlier intents is not known.
ALTER TABLE intent ADD COLUMN awaits_charge INTEGER NOT NULL DEFAULT 1;
CREATE INDEX intent_awaits_charge ON intent (created_at, id) WHERE awaits_charge = 1;

-- Intents that were over before any of their transactions was in a block, and stay so. They are
-- deleted after a time.
ALTER TABLE intent ADD COLUMN is_empty INTEGER NOT NULL DEFAULT 0;
UPDATE intent SET is_empty = 1
    WHERE state IN ('failed', 'cancelled') AND is_final = 1
    AND body NOT LIKE '%"sealed":{%' AND body NOT LIKE '%"reverted":{%';
CREATE INDEX intent_empty ON intent (created_at) WHERE is_empty = 1;

CREATE INDEX forbidden_at ON forbidden (at);
DROP INDEX intent_created;
