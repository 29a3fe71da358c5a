-- Released for good: its payer was told to sign a new payment. Nothing reserves the authorization again.
ALTER TABLE entry ADD COLUMN retired INTEGER NOT NULL DEFAULT 0;
