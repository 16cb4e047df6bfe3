"""The tables of the small ports: values by key, live text, blobs."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, Table, Text

from psych_runtime_sql.tables import FLAG, INTEGER, METADATA, required

KV = Table(
    "psych_kv",
    METADATA,
    Column("tenant", Text, primary_key=True),
    Column("space", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    required("value", LargeBinary()),
    required("revision", INTEGER),
    Column("expires_at", INTEGER),
    sqlite_strict=True,
)
"""Small values. What has expired stays until a later `put` takes it away."""

EXPIRES = KV.c.expires_at.is_not(None)

Index("psych_kv_expires", KV.c.expires_at, sqlite_where=EXPIRES)

KV_COUNT = Table("psych_kv_count", METADATA, required("revisions", INTEGER), sqlite_strict=True)
"""One row, one count for all keys: no revision comes twice, whatever was removed in between."""

LIVE = Table(
    "psych_live",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("call_seq", INTEGER, primary_key=True, autoincrement=False),
    Column("reasoning", FLAG, primary_key=True),
    Column("start", INTEGER, primary_key=True, autoincrement=False),
    required("lane", Text()),
    required("epoch", INTEGER),
    required("length", INTEGER),
    required("size", INTEGER),
    required("body", LargeBinary()),
    required("at", INTEGER),
    sqlite_strict=True,
)
"""Text of model calls in progress. `size`: the bytes of its text from the beginning to the row's end."""

Index("psych_live_at", LIVE.c.at)

BLOB = Table(
    "psych_blob",
    METADATA,
    Column("tenant", Text, primary_key=True),
    Column("run_id", Text, primary_key=True),
    Column("call_id", Text, primary_key=True),
    required("upload", Text()),
    required("content_type", Text()),
    required("metadata", Text()),
    required("size", INTEGER),
    required("sha256", LargeBinary()),
    required("created_at", INTEGER),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Blobs that are whole. `upload` names the chunks of the content."""

CHUNK = Table(
    "psych_blob_chunk",
    METADATA,
    Column("upload", Text, primary_key=True),
    Column("n", INTEGER, primary_key=True, autoincrement=False),
    required("body", LargeBinary()),
    sqlite_strict=True,
)
"""Content in pieces of 256 KiB, the last one shorter. Those that no blob names are under a mark."""
