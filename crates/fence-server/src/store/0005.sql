-- The account whose key signed the plan's grant. A person has one open plan at a time, over all
-- accounts that the person signs for.
ALTER TABLE submission ADD COLUMN owner TEXT NOT NULL DEFAULT '';

UPDATE submission SET owner = coalesce((
    SELECT g.owner FROM permission g
    WHERE g.account = submission.account AND g.grant_id = submission.grant_id), '');

CREATE INDEX submission_open_of_owner ON submission (owner, payload_digest) WHERE is_open = 1;
