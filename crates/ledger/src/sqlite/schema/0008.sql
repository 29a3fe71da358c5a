-- 1 where the answer tells of its payer alone, and is deleted sooner. Neither number takes a byte of the row.
ALTER TABLE entry ADD COLUMN private INTEGER NOT NULL DEFAULT 0;

-- The sum of the payer's settled payments. A payer who has spent its credit keeps its row from now on. Of what was settled before,
-- what is left of credit is known to have been paid.
ALTER TABLE credit ADD COLUMN paid INTEGER NOT NULL DEFAULT 0;
UPDATE credit SET paid = micro_usd;
