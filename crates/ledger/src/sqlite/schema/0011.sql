-- 1 if the entry is released for good: its payer was told to sign a new payment. The authorization
-- is not reserved again.
ALTER TABLE entry ADD COLUMN retired INTEGER NOT NULL DEFAULT 0;
