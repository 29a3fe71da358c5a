-- One entry for each authorization, and one authorization for each payment identifier of a payer: constraints of the
-- database, whatever the program above them does. An authorization is released, deleted and inserted anew in one transaction.
DROP TABLE generation;
DROP TABLE bucket;
CREATE UNIQUE INDEX entry_authorization ON entry (authorization);
DROP INDEX entry_payment_id;
CREATE UNIQUE INDEX entry_payment_id ON entry (payer, payment_id) WHERE payment_id IS NOT NULL;

-- `open` is 1 for every entry in flight (states before 5), from its reservation on.
UPDATE entry SET open = 1 WHERE open = 0 AND state < 5;

-- How `body_digest` was computed: 0 Keccak-256 (until version 8), 1 SHA-256.
ALTER TABLE answer ADD COLUMN digest_kind INTEGER NOT NULL DEFAULT 0;
