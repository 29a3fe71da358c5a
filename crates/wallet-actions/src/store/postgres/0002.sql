-- Intents whose paid call may still have to be charged. The value of earlier intents is not known.
ALTER TABLE wallets_intent ADD COLUMN awaits_charge boolean NOT NULL DEFAULT true;
CREATE INDEX wallets_intent_awaits_charge ON wallets_intent (created_at, id) WHERE awaits_charge;

-- Intents that were over before any of their transactions was in a block, and stay so. They are
-- deleted after a time.
ALTER TABLE wallets_intent ADD COLUMN is_empty boolean NOT NULL DEFAULT false;
UPDATE wallets_intent SET is_empty = true
    WHERE state IN ('failed', 'cancelled') AND is_final
    AND body NOT LIKE '%"sealed":{%' AND body NOT LIKE '%"reverted":{%';
CREATE INDEX wallets_intent_empty ON wallets_intent (created_at) WHERE is_empty;

CREATE INDEX wallets_forbidden_at ON wallets_forbidden (at);
DROP INDEX wallets_intent_created;
