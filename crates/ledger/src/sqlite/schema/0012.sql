-- The places of purchases without a payment identifier, of proven payers. Each belongs to one
-- entry, from its reservation until it is released or its answer was written whole. Actions keep
-- theirs. A place that counts no longer is deleted by the next claim that needs it, or with its
-- entry.
CREATE TABLE place (
    entry INTEGER PRIMARY KEY,
    -- 16 bytes of the digest of the payer and of the request alone.
    digest BLOB NOT NULL UNIQUE,
    is_action INTEGER NOT NULL,
    is_delivered INTEGER NOT NULL DEFAULT 0
) STRICT;

-- In the entry of an authorization that was answered as a repetition (state 7): the entry of the
-- purchase. Its `transaction_hash` is that of the purchase.
ALTER TABLE entry ADD COLUMN repeats INTEGER;
-- In the entry of a purchase: how many authorizations were answered as its repetitions.
ALTER TABLE entry ADD COLUMN repeated INTEGER NOT NULL DEFAULT 0;
