-- An end of a grant that was never received takes room, and is deleted at `kept_until`; NULL for an
-- end that is never deleted. `pool` is the room that the account shares with others: 1 of unknown
-- accounts, 2 of accounts that only have delegation code, 0 for an account with a grant or a
-- wallet. `records` is how many records of the log the end has written.
ALTER TABLE ending ADD COLUMN kept_until INTEGER;
ALTER TABLE ending ADD COLUMN pool INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ending ADD COLUMN records INTEGER NOT NULL DEFAULT 1;

-- 180 days and ten minutes from arrival, as for new ones.
UPDATE ending SET kept_until = (
    SELECT log.at + 15552600 FROM log
    WHERE log.account = ending.account AND log.grant_id = ending.grant_id AND log.seq = ending.seq
)
WHERE grant_id <> '0x0000000000000000000000000000000000000000000000000000000000000000'
    AND NOT EXISTS (
        SELECT 1 FROM permission
        WHERE permission.account = ending.account AND permission.grant_id = ending.grant_id
    );

CREATE INDEX ending_over ON ending (kept_until) WHERE kept_until IS NOT NULL;
CREATE INDEX ending_of_account ON ending (account, kept_until) WHERE kept_until IS NOT NULL;
CREATE INDEX ending_of_pool ON ending (pool, kept_until, records) WHERE pool <> 0;
CREATE INDEX permission_issued ON permission (account, issued_at);
