-- The places of purchases without a payment identifier, of proven payers. Each belongs to one
-- entry, from its reservation until it is released or its answer was written whole. Actions keep
-- theirs. A place that counts no longer is deleted by the next claim that needs it, or with its
-- entry.
CREATE TABLE ledger_place (
    entry bigint PRIMARY KEY,
    -- 16 bytes of the digest of the payer and of the request alone.
    digest bytea NOT NULL CONSTRAINT ledger_place_digest UNIQUE,
    is_action boolean NOT NULL,
    is_delivered boolean NOT NULL DEFAULT false
);

-- In the entry of an authorization that was answered as a repetition: the entry of the purchase.
-- Its `transaction_hash` is that of the purchase.
ALTER TABLE ledger_entry ADD COLUMN repeats bigint;
-- In the entry of a purchase: how many authorizations were answered as its repetitions.
ALTER TABLE ledger_entry ADD COLUMN repeated smallint NOT NULL DEFAULT 0;
