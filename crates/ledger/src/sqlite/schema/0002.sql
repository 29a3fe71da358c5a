-- A payment changes its state four times. What is indexed by the state changes with it each time; what is indexed by
-- `open` changes when the payment begins and when it ends.
ALTER TABLE entry ADD COLUMN open INTEGER NOT NULL DEFAULT 0;
UPDATE entry SET open = 1 WHERE state < 6;
DROP INDEX entry_open;
-- The entries that are not decided (states before 6): few, whatever the size of the ledger.
CREATE INDEX entry_open ON entry (open) WHERE open = 1;

-- A released entry gives its payment identifier back, so that the index need not look at the state.
UPDATE entry SET payment_id = NULL WHERE payment_id IS NOT NULL AND state = 7;
DROP INDEX entry_payment_id;
CREATE INDEX entry_payment_id ON entry (payer, payment_id) WHERE payment_id IS NOT NULL;

-- 16 bytes of a digest tell authorizations apart as well as 32 do, in half the pages: each reservation changes another
-- page of this index.
UPDATE entry SET authorization = substr(authorization, 1, 16);
