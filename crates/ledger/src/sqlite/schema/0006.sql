-- Digest of method, path, query and body alone (`request` has the signature in it as well), 32 bytes. Only of entries with a
-- payment identifier: it says whether a payer who uses it again asks for the same.
ALTER TABLE entry ADD COLUMN content BLOB;
-- 1 of a released entry whose settlement had been asked for, and of the next entry of its authorization.
ALTER TABLE entry ADD COLUMN attempted INTEGER NOT NULL DEFAULT 0;

-- `open` says from now on which entries somebody has to find: 1 those in flight that are not among the newest any more, 2 the
-- unknown (state 5), 3 the undecidable (state 8). 0 are the decided and the newest.
UPDATE entry SET open = 2 WHERE open = 1 AND state = 5;
DROP INDEX entry_open;
CREATE INDEX entry_open ON entry (open) WHERE open <> 0;
-- The one that is unknown for the longest time.
CREATE INDEX entry_unknown ON entry (changed_at) WHERE open = 2;

-- Since this version a settled entry outlives its answer. `transaction_hash` is then what its receipt said.

-- What the settled payments of a payer have earned and uncharged work has not spent yet, more than nothing.
CREATE TABLE credit (
    payer BLOB PRIMARY KEY,
    micro_usd INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
