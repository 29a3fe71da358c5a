-- 1 if the answer is about its payer only; it is then deleted sooner. Neither 0 nor 1 takes a byte
-- of the row.
ALTER TABLE entry ADD COLUMN private INTEGER NOT NULL DEFAULT 0;

-- The sum of the payer's settled payments. From this version on a payer who has spent its credit
-- keeps its row. Of earlier payments, only the credit that is left is known to have been paid.
ALTER TABLE credit ADD COLUMN paid INTEGER NOT NULL DEFAULT 0;
UPDATE credit SET paid = micro_usd;
