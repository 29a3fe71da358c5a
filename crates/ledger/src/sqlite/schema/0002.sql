-- A payment changes its state four times, and an index by state changes with it each time. An index
-- by `open` changes only when the payment begins and when it ends.
ALTER TABLE entry ADD COLUMN open INTEGER NOT NULL DEFAULT 0;
UPDATE entry SET open = 1 WHERE state < 6;
DROP INDEX entry_open;
-- The entries that are not decided (states before 6). They are few, whatever the size of the
-- ledger.
CREATE INDEX entry_open ON entry (open) WHERE open = 1;

-- A released entry gives its payment identifier back, so the index does not need the state.
UPDATE entry SET payment_id = NULL WHERE payment_id IS NOT NULL AND state = 7;
DROP INDEX entry_payment_id;
CREATE INDEX entry_payment_id ON entry (payer, payment_id) WHERE payment_id IS NOT NULL;

-- 16 bytes of a digest distinguish authorizations as well as 32 do, and need half the pages. Each
-- reservation changes another page of the index of authorizations.
UPDATE entry SET authorization = substr(authorization, 1, 16);
