-- Installed policies, each with its canonical text. The last one is in force.
CREATE TABLE fence_policy (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    base text NOT NULL,
    version bigint NOT NULL,
    digest text NOT NULL,
    document text NOT NULL,
    installed_at bigint NOT NULL
);

CREATE INDEX fence_policy_base ON fence_policy (base, version);

-- One row for each known account. `version` rises with every write about the account, so that a
-- write can require that nothing has been written since it was judged. `holder`, `token` and
-- `until` are the lease of the account's plan in flight; `token` only rises.
CREATE TABLE fence_account (
    account bytea PRIMARY KEY,
    version bigint NOT NULL,
    holder text NOT NULL,
    token bigint NOT NULL,
    until bigint NOT NULL
) WITH (fillfactor = 50);

-- Signed documents are stored as they arrived. Rows of this table and the next two are never
-- changed. A row is deleted only if it is a limit that adds nothing to the tightest one.
-- `delegations` is a JSON list of the delegations of an account that is fenced on the chain as
-- well; the empty list for every other grant.
CREATE TABLE fence_grant (
    account bytea NOT NULL,
    grant_id bytea NOT NULL,
    owner bytea NOT NULL,
    issued_at bigint NOT NULL,
    signed text NOT NULL,
    received_at bigint NOT NULL,
    delegations text NOT NULL,
    PRIMARY KEY (account, grant_id)
);

CREATE TABLE fence_limit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bytea NOT NULL,
    grant_id bytea NOT NULL,
    signed text NOT NULL,
    received_at bigint NOT NULL
);

CREATE INDEX fence_limit_of_grant ON fence_limit (account, grant_id, id);

-- The end of a grant, even of one that was never received. The id of 32 zero bytes stands for every
-- grant that was issued until `ended_at`. Only its row moves forward; everything else stays. `seq`
-- is the number of the end's record in the grant's log.
CREATE TABLE fence_end (
    account bytea NOT NULL,
    grant_id bytea NOT NULL,
    ended_at bigint NOT NULL,
    seq bigint NOT NULL,
    signed text,
    PRIMARY KEY (account, grant_id)
);

-- Ordered plans. A plan keeps its one row for ever, so it is sent at most once. `is_open` is true
-- until nothing is left to do. `used_at` is the time at which its third step was ordered to be
-- signed.
CREATE TABLE fence_plan (
    payload_digest bytea PRIMARY KEY,
    account bytea NOT NULL,
    grant_id bytea NOT NULL,
    order_digest bytea NOT NULL,
    signed text NOT NULL,
    request text NOT NULL,
    envelope text NOT NULL,
    admitted text NOT NULL,
    accepted_at bigint NOT NULL,
    gas_micro_usd bigint NOT NULL,
    is_open boolean NOT NULL,
    changed_at bigint NOT NULL,
    amount text NOT NULL,
    used_at bigint
) WITH (fillfactor = 70);

CREATE INDEX fence_plan_open ON fence_plan (account, payload_digest) WHERE is_open;
CREATE INDEX fence_plan_used ON fence_plan (account, grant_id, payload_digest) WHERE used_at IS NOT NULL;
CREATE INDEX fence_plan_gas ON fence_plan (accepted_at, account, gas_micro_usd);

-- The server looks for work every few seconds. With these indexes, neither half of the query goes
-- through plans that ended long ago.
CREATE INDEX fence_plan_pending ON fence_plan (accepted_at) WHERE is_open;
CREATE INDEX fence_plan_changed ON fence_plan (changed_at);

-- The events of each plan, in the order in which they were written.
CREATE TABLE fence_event (
    payload_digest bytea NOT NULL,
    number bigint NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (payload_digest, number)
);

-- The logs of grants. Records are hash-chained, are written together with the change that they
-- report, and are never changed.
CREATE TABLE fence_log (
    account bytea NOT NULL,
    grant_id bytea NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    hash bytea NOT NULL,
    is_refusal boolean NOT NULL,
    payload_digest bytea,
    refused_by text,
    record text NOT NULL,
    PRIMARY KEY (account, grant_id, seq)
);

CREATE INDEX fence_log_refusals ON fence_log (account, grant_id, at) WHERE is_refusal;

-- A probe. Its one row is written to learn whether the database accepts writes.
CREATE TABLE fence_probe (
    id integer PRIMARY KEY CHECK (id = 1),
    at timestamptz NOT NULL
) WITH (fillfactor = 50);
