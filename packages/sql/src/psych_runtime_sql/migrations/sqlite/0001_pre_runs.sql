CREATE TABLE psych_migration (
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    phase TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL,
    release TEXT NOT NULL,
    PRIMARY KEY (number)
) STRICT;

CREATE TABLE psych_version (
    hash TEXT NOT NULL,
    body BLOB NOT NULL,
    published_at INTEGER NOT NULL,
    PRIMARY KEY (hash)
) STRICT;

CREATE TABLE psych_run (
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    principal TEXT,
    labels TEXT NOT NULL,
    name TEXT NOT NULL,
    request BLOB NOT NULL,
    idempotency_key TEXT,
    priority INTEGER NOT NULL,
    parent_run_id TEXT,
    root_run_id TEXT NOT NULL,
    delegation_depth INTEGER NOT NULL,
    continues_run_id TEXT,
    created_at INTEGER NOT NULL,
    erased INTEGER NOT NULL,
    settled_at INTEGER,
    terminal TEXT,
    head_seq INTEGER,
    head_digest BLOB,
    epoch INTEGER,
    crashes INTEGER,
    version_hash TEXT,
    deadline_at INTEGER,
    parked INTEGER,
    waits TEXT,
    pending INTEGER,
    stopping INTEGER,
    blobs INTEGER,
    attempt_count INTEGER,
    PRIMARY KEY (run_id),
    CHECK (terminal IN ('completed', 'failed', 'aborted', 'abandoned', 'force_settled'))
) WITHOUT ROWID, STRICT;

CREATE INDEX psych_run_continues ON psych_run (continues_run_id, created_at DESC, run_id DESC) WHERE continues_run_id IS NOT NULL;

CREATE INDEX psych_run_created ON psych_run (created_at DESC, run_id DESC);

CREATE INDEX psych_run_parent ON psych_run (parent_run_id, created_at DESC, run_id DESC) WHERE parent_run_id IS NOT NULL;

CREATE INDEX psych_run_root ON psych_run (root_run_id, created_at DESC, run_id DESC);

CREATE INDEX psych_run_settled ON psych_run (settled_at, run_id) WHERE terminal IS NOT NULL;

CREATE INDEX psych_run_tenant ON psych_run (tenant, created_at DESC, run_id DESC);

CREATE TABLE psych_work (
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    ready INTEGER NOT NULL,
    ready_at INTEGER,
    worker_id TEXT,
    claim_id TEXT,
    expired INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    head_digest BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    version_hash TEXT NOT NULL,
    deadline_at INTEGER,
    parked INTEGER NOT NULL,
    waits TEXT NOT NULL,
    pending INTEGER NOT NULL,
    stopping INTEGER NOT NULL,
    blobs INTEGER NOT NULL,
    attempt_count INTEGER NOT NULL,
    state TEXT GENERATED ALWAYS AS (CASE WHEN worker_id IS NOT NULL THEN 'running' WHEN parked = 1 THEN 'suspended' ELSE 'runnable' END) VIRTUAL,
    PRIMARY KEY (run_id)
) WITHOUT ROWID, STRICT;

CREATE INDEX psych_work_claimed ON psych_work (worker_id, claim_id) WHERE worker_id IS NOT NULL;

CREATE INDEX psych_work_due ON psych_work (ready_at, run_id) WHERE ready = 0 AND ready_at IS NOT NULL;

CREATE INDEX psych_work_open ON psych_work (state, tenant, created_at DESC, run_id DESC);

CREATE INDEX psych_work_ready ON psych_work (tenant, version_hash, priority DESC, ready_at, run_id) WHERE ready = 1;

CREATE TABLE psych_entry (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    body BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT;

CREATE TABLE psych_key (
    tenant TEXT NOT NULL,
    "key" BLOB NOT NULL,
    run_id TEXT NOT NULL,
    request BLOB NOT NULL,
    forget_at INTEGER,
    PRIMARY KEY (tenant, "key")
) WITHOUT ROWID, STRICT;

CREATE INDEX psych_key_forget ON psych_key (forget_at) WHERE forget_at IS NOT NULL;

CREATE INDEX psych_key_run ON psych_key (run_id);

CREATE TABLE psych_mark (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (id)
) WITHOUT ROWID, STRICT;

CREATE INDEX psych_mark_at ON psych_mark (at);
