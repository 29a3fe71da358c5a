-- The digest of method, path, query and body alone, 32 bytes (`request` covers the signature as
-- well). Only entries with a payment identifier have it. It shows whether a payer who uses the
-- identifier again makes the same request.
ALTER TABLE entry ADD COLUMN content BLOB;
-- 1 for a released entry whose settlement had been requested, and for the next entry of its
-- authorization.
ALTER TABLE entry ADD COLUMN attempted INTEGER NOT NULL DEFAULT 0;

-- From this version on `open` marks the entries that have to be found: 1 for those in flight that
-- are no longer among the newest, 2 for the unknown (state 5), 3 for the undecidable (state 8). It
-- is 0 for the decided and the newest.
UPDATE entry SET open = 2 WHERE open = 1 AND state = 5;
DROP INDEX entry_open;
CREATE INDEX entry_open ON entry (open) WHERE open <> 0;
-- Finds the entry that has been unknown for the longest time.
CREATE INDEX entry_unknown ON entry (changed_at) WHERE open = 2;

-- Since this version a settled entry outlives its answer. `transaction_hash` is then the one that
-- its receipt named.

-- The credit that a payer's settled payments have earned and uncharged work has not spent yet. A
-- row is more than zero.
CREATE TABLE credit (
    payer BLOB PRIMARY KEY,
    micro_usd INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
