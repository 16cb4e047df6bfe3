"""The tables, as SQLAlchemy Core metadata. Instants are integers: microseconds since 1970, UTC."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    and_,
    false,
    true,
)
from sqlalchemy.types import TypeEngine

from psych_runtime_core.records.facts import TerminalState

METADATA = MetaData()

# SQLite's strict tables know one type of integer, and it has 64 bits.
_INTEGER = BigInteger().with_variant(Integer(), "sqlite")
_FLAG = Boolean().with_variant(Integer(), "sqlite")


def _required(name: str, kind: TypeEngine[Any]) -> Column[Any]:
    return Column(name, kind, nullable=False)


def _log(*, nullable: bool) -> tuple[Column[Any], ...]:
    """What a header says of its log and its claims: in `psych_work` while the Run is open, then cold."""
    return (
        Column("head_seq", _INTEGER, nullable=nullable),
        Column("head_digest", LargeBinary, nullable=nullable),
        Column("epoch", _INTEGER, nullable=nullable),
        Column("crashes", _INTEGER, nullable=nullable),
        *_facts(nullable=nullable),
    )


def _facts(*, nullable: bool) -> tuple[Column[Any], ...]:
    return (
        Column("version_hash", Text, nullable=nullable),
        Column("deadline_at", _INTEGER),
        Column("parked", _FLAG, nullable=nullable),
        Column("waits", Text, nullable=nullable),
        Column("pending", _INTEGER, nullable=nullable),
        Column("stopping", _FLAG, nullable=nullable),
        Column("attempt_count", _INTEGER, nullable=nullable),
    )


LOG_COLUMNS = tuple(column.name for column in _log(nullable=False))
FACT_COLUMNS = tuple(column.name for column in _facts(nullable=False))

RUN = Table(
    "psych_run",
    METADATA,
    Column("run_id", Text, primary_key=True),
    _required("tenant", Text()),
    Column("principal", Text),
    _required("labels", Text()),
    _required("name", Text()),
    _required("request", LargeBinary()),
    Column("idempotency_key", Text),
    _required("priority", _INTEGER),
    _required("root_run_id", Text()),
    _required("created_at", _INTEGER),
    Column("settled_at", _INTEGER),
    Column("terminal", Text),
    *_log(nullable=True),
    CheckConstraint(f"terminal IN ({', '.join(repr(state.value) for state in TerminalState)})"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Every Run. Written at its admission and at its end."""

WORK = Table(
    "psych_work",
    METADATA,
    Column("run_id", Text, primary_key=True),
    _required("tenant", Text()),
    _required("priority", _INTEGER),
    _required("ready", _FLAG),
    Column("ready_at", _INTEGER),
    Column("worker_id", Text),
    Column("claim_id", Text),
    _required("expired", _FLAG),
    *_log(nullable=False),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Every Run that is not settled, one narrow row each. A lease ends at `ready_at`.

`expired`: the claim that holds it took over an expired lease.
"""

IS_READY = WORK.c.ready == true()
IS_DUE_LATER = and_(WORK.c.ready == false(), WORK.c.ready_at.is_not(None))
IS_CLAIMED = WORK.c.worker_id.is_not(None)

Index(
    "psych_work_ready",
    WORK.c.tenant,
    WORK.c.version_hash,
    WORK.c.priority.desc(),
    WORK.c.ready_at,
    WORK.c.run_id,
    sqlite_where=IS_READY,
)
Index("psych_work_due", WORK.c.ready_at, WORK.c.run_id, sqlite_where=IS_DUE_LATER)
Index("psych_work_claimed", WORK.c.worker_id, WORK.c.claim_id, sqlite_where=IS_CLAIMED)

ENTRY = Table(
    "psych_entry",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("seq", _INTEGER, primary_key=True),
    _required("type", Text()),
    _required("at", _INTEGER),
    _required("epoch", _INTEGER),
    _required("body", LargeBinary()),
    _required("digest", LargeBinary()),
    sqlite_strict=True,
)
"""The logs. Rows go in at the table's end, so commits of many Runs share its last page."""

KEY = Table(
    "psych_key",
    METADATA,
    Column("tenant", Text, primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    _required("run_id", Text()),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Idempotency keys, hashed with their tenant."""

VERSION = Table(
    "psych_version",
    METADATA,
    Column("hash", Text, primary_key=True),
    _required("body", LargeBinary()),
    sqlite_strict=True,
)

MIGRATION = Table(
    "psych_migration",
    METADATA,
    Column("number", _INTEGER, primary_key=True),
    _required("name", Text()),
    _required("phase", Text()),
    _required("checksum", Text()),
    _required("applied_at", _INTEGER),
    _required("release", Text()),
    sqlite_strict=True,
)
"""The ledger of migrations."""
