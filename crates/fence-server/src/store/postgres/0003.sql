-- The account whose key signed the plan's grant. A person has one open plan at a time, over all
-- accounts that the person signs for.
ALTER TABLE fence_plan ADD COLUMN owner bytea;

UPDATE fence_plan SET owner = (
    SELECT g.owner FROM fence_grant g
    WHERE g.account = fence_plan.account AND g.grant_id = fence_plan.grant_id);

CREATE INDEX fence_plan_open_of_owner ON fence_plan (owner, payload_digest) WHERE is_open;
