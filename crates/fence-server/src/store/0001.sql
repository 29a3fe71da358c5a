-- Installed policies, each with its canonical text. The last one is in force.
CREATE TABLE policy (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    base TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    document TEXT NOT NULL,
    installed_at INTEGER NOT NULL
) STRICT;

-- One row for each known account. `version` rises with every write about the account, so that a
-- write can require that nothing has been written since it was judged. `holder`, `token` and
-- `until` are the lease of the account's plan in flight; `token` only rises.
CREATE TABLE account (
    account TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    holder TEXT NOT NULL,
    token INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Signed documents are stored as they arrived. Rows of this table and the next two are never
-- changed. A row is deleted only if it is a limit that adds nothing to the tightest one.
CREATE TABLE permission (
    account TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    signed TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (account, grant_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tightening (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    signed TEXT NOT NULL,
    received_at INTEGER NOT NULL
) STRICT;

CREATE INDEX tightening_of_grant ON tightening (account, grant_id, id);

-- The end of a grant, even of one that was never received. The id of 32 zero bytes stands for every
-- grant that was issued until `ended_at`. Only its row moves forward; everything else stays. `seq`
-- is the number of the end's record in the grant's log.
CREATE TABLE ending (
    account TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    ended_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    signed TEXT,
    PRIMARY KEY (account, grant_id)
) STRICT, WITHOUT ROWID;

-- Ordered plans. A plan keeps its one row for ever, so it is sent at most once. `is_open` is 1
-- until nothing is left to do. `used_at` is the time at which its third step was ordered to be
-- signed.
CREATE TABLE submission (
    payload_digest TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    order_digest TEXT NOT NULL,
    signed TEXT NOT NULL,
    request TEXT NOT NULL,
    envelope TEXT NOT NULL,
    admitted TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    gas_micro_usd INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    amount TEXT NOT NULL,
    used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX submission_open ON submission (account, payload_digest) WHERE is_open = 1;
CREATE INDEX submission_used ON submission (account, grant_id, payload_digest) WHERE used_at IS NOT NULL;
CREATE INDEX submission_gas ON submission (accepted_at, account, gas_micro_usd);

-- The events of each plan, in the order in which they were written.
CREATE TABLE send_event (
    payload_digest TEXT NOT NULL,
    number INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (payload_digest, number)
) STRICT, WITHOUT ROWID;

-- The logs of grants. Records are hash-chained, are written together with the change that they
-- report, and are never changed.
CREATE TABLE log (
    account TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    hash TEXT NOT NULL,
    event TEXT NOT NULL,
    payload_digest TEXT,
    refused_by TEXT,
    record TEXT NOT NULL,
    PRIMARY KEY (account, grant_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_refusals ON log (account, grant_id, at, payload_digest, refused_by) WHERE event = 'refused';
