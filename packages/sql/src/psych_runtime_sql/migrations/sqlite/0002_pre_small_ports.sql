CREATE TABLE psych_kv (
    tenant TEXT NOT NULL,
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    revision INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (tenant, space, name)
) STRICT;

CREATE INDEX psych_kv_expires ON psych_kv (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE psych_kv_count (
    revisions INTEGER NOT NULL
) STRICT;

INSERT INTO psych_kv_count (revisions) VALUES (0);

CREATE TABLE psych_live (
    run_id TEXT NOT NULL,
    call_seq INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    start INTEGER NOT NULL,
    lane TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    length INTEGER NOT NULL,
    size INTEGER NOT NULL,
    body BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_id, call_seq, reasoning, start)
) STRICT;

CREATE INDEX psych_live_at ON psych_live (at);

CREATE TABLE psych_blob (
    tenant TEXT NOT NULL,
    run_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    upload TEXT NOT NULL,
    content_type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, run_id, call_id)
) WITHOUT ROWID, STRICT;

CREATE TABLE psych_blob_chunk (
    upload TEXT NOT NULL,
    n INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (upload, n)
) STRICT;
