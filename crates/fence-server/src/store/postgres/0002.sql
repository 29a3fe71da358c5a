-- An end of a grant that was never received takes room, and is deleted at `kept_until`; NULL for an
-- end that is never deleted. `pool` is the room that the account shares with others: 1 of unknown
-- accounts, 2 of accounts that only have delegation code, 0 for an account with a grant or a
-- wallet. `records` is how many records of the log the end has written.
ALTER TABLE fence_end
    ADD COLUMN kept_until bigint,
    ADD COLUMN pool integer NOT NULL DEFAULT 0,
    ADD COLUMN records bigint NOT NULL DEFAULT 1;

-- 180 days and ten minutes from arrival, as for new ones.
UPDATE fence_end e SET kept_until = l.at + 15552600
FROM fence_log l
WHERE l.account = e.account AND l.grant_id = e.grant_id AND l.seq = e.seq
    AND e.grant_id <> decode(repeat('00', 32), 'hex')
    AND NOT EXISTS (
        SELECT FROM fence_grant g WHERE g.account = e.account AND g.grant_id = e.grant_id
    );

CREATE INDEX fence_end_over ON fence_end (kept_until) WHERE kept_until IS NOT NULL;
CREATE INDEX fence_end_of_account ON fence_end (account, kept_until) WHERE kept_until IS NOT NULL;
CREATE INDEX fence_end_of_pool ON fence_end (pool, kept_until, records) WHERE pool <> 0;
CREATE INDEX fence_grant_issued ON fence_grant (account, issued_at);
