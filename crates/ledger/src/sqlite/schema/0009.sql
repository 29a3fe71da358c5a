-- Each authorization has one entry, and each payment identifier of a payer has one authorization.
-- These are constraints of the database, whatever the program above it does. An authorization is
-- released, deleted and inserted again in one transaction.
DROP TABLE generation;
DROP TABLE bucket;
CREATE UNIQUE INDEX entry_authorization ON entry (authorization);
DROP INDEX entry_payment_id;
CREATE UNIQUE INDEX entry_payment_id ON entry (payer, payment_id) WHERE payment_id IS NOT NULL;

-- `open` is 1 for every entry in flight (states before 5), from its reservation on.
UPDATE entry SET open = 1 WHERE open = 0 AND state < 5;

-- The hash function of `body_digest`: 0 is Keccak-256 (until version 8), 1 is SHA-256.
ALTER TABLE answer ADD COLUMN digest_kind INTEGER NOT NULL DEFAULT 0;
