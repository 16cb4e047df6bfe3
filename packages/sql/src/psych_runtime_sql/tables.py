"""The tables, as SQLAlchemy Core metadata. Instants are integers: microseconds since 1970, UTC."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
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

from psych_runtime_core.ports.runs import RunState
from psych_runtime_core.records.facts import TerminalState

METADATA = MetaData()

# SQLite's strict tables know one type of integer, and it has 64 bits.
INTEGER = BigInteger().with_variant(Integer(), "sqlite")
FLAG = Boolean().with_variant(Integer(), "sqlite")


def required(name: str, kind: TypeEngine[Any]) -> Column[Any]:
    """A column that every row has a value of."""
    return Column(name, kind, nullable=False)


def _log(*, nullable: bool) -> tuple[Column[Any], ...]:
    """What a header says of its log and its claims: in `psych_work` while the Run is open, then cold."""
    return (
        Column("head_seq", INTEGER, nullable=nullable),
        Column("head_digest", LargeBinary, nullable=nullable),
        Column("epoch", INTEGER, nullable=nullable),
        Column("crashes", INTEGER, nullable=nullable),
        *_facts(nullable=nullable),
    )


def _facts(*, nullable: bool) -> tuple[Column[Any], ...]:
    return (
        Column("version_hash", Text, nullable=nullable),
        Column("deadline_at", INTEGER),
        Column("parked", FLAG, nullable=nullable),
        Column("waits", Text, nullable=nullable),
        Column("pending", INTEGER, nullable=nullable),
        Column("stopping", FLAG, nullable=nullable),
        Column("blobs", FLAG, nullable=nullable),
        Column("attempt_count", INTEGER, nullable=nullable),
    )


LOG_COLUMNS = tuple(column.name for column in _log(nullable=False))
FACT_COLUMNS = tuple(column.name for column in _facts(nullable=False))

RUN = Table(
    "psych_run",
    METADATA,
    Column("run_id", Text, primary_key=True),
    required("tenant", Text()),
    Column("principal", Text),
    required("labels", Text()),
    required("name", Text()),
    required("request", LargeBinary()),
    Column("idempotency_key", Text),
    required("priority", INTEGER),
    Column("parent_run_id", Text),
    required("root_run_id", Text()),
    required("delegation_depth", INTEGER),
    Column("continues_run_id", Text),
    required("created_at", INTEGER),
    required("erased", FLAG),
    Column("settled_at", INTEGER),
    Column("terminal", Text),
    *_log(nullable=True),
    CheckConstraint(f"terminal IN ({', '.join(repr(state.value) for state in TerminalState)})"),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Every Run. Written at its admission and at its end."""

IS_SETTLED = RUN.c.terminal.is_not(None)


def _newest_first(name: str, *columns: Column[Any]) -> None:
    """An index of Runs as pages show them, within what `columns` say; not of those that have none."""
    given = [column.is_not(None) for column in columns if column.nullable]
    Index(
        f"psych_run_{name}",
        *columns,
        RUN.c.created_at.desc(),
        RUN.c.run_id.desc(),
        sqlite_where=and_(*given) if given else None,
    )


_newest_first("created")
_newest_first("tenant", RUN.c.tenant)
_newest_first("root", RUN.c.root_run_id)
_newest_first("parent", RUN.c.parent_run_id)
_newest_first("continues", RUN.c.continues_run_id)
Index("psych_run_settled", RUN.c.settled_at, RUN.c.run_id, sqlite_where=IS_SETTLED)

_STATE = (
    f"CASE WHEN worker_id IS NOT NULL THEN '{RunState.RUNNING}'"
    f" WHEN parked = 1 THEN '{RunState.SUSPENDED}' ELSE '{RunState.RUNNABLE}' END"
)

WORK = Table(
    "psych_work",
    METADATA,
    Column("run_id", Text, primary_key=True),
    required("tenant", Text()),
    required("created_at", INTEGER),
    required("priority", INTEGER),
    required("ready", FLAG),
    Column("ready_at", INTEGER),
    Column("worker_id", Text),
    Column("claim_id", Text),
    required("expired", FLAG),
    *_log(nullable=False),
    Column("state", Text, Computed(_STATE, persisted=False)),
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

Index("psych_work_open", WORK.c.state, WORK.c.tenant, WORK.c.created_at.desc(), WORK.c.run_id.desc())

ENTRY = Table(
    "psych_entry",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("seq", INTEGER, primary_key=True),
    required("type", Text()),
    required("at", INTEGER),
    required("epoch", INTEGER),
    required("body", LargeBinary()),
    required("digest", LargeBinary()),
    sqlite_strict=True,
)
"""The logs. Rows go in at the table's end, so commits of many Runs share its last page."""

KEY = Table(
    "psych_key",
    METADATA,
    Column("tenant", Text, primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    required("run_id", Text()),
    required("request", LargeBinary()),
    Column("forget_at", INTEGER),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""Idempotency keys, hashed with their tenant, and what came with them, hashed with the key.

`forget_at`: the Run is purged or erased, and its key answers until then.
"""

IS_DATED = KEY.c.forget_at.is_not(None)

Index("psych_key_run", KEY.c.run_id)
Index("psych_key_forget", KEY.c.forget_at, sqlite_where=IS_DATED)

MARK = Table(
    "psych_mark",
    METADATA,
    Column("id", Text, primary_key=True),
    required("kind", Text()),
    required("tenant", Text()),
    required("at", INTEGER),
    sqlite_strict=True,
    sqlite_with_rowid=False,
)
"""What takes several commits and is under way, or was cut short."""

Index("psych_mark_at", MARK.c.at)

VERSION = Table(
    "psych_version",
    METADATA,
    Column("hash", Text, primary_key=True),
    required("body", LargeBinary()),
    required("published_at", INTEGER),
    sqlite_strict=True,
)

MIGRATION = Table(
    "psych_migration",
    METADATA,
    Column("number", INTEGER, primary_key=True),
    required("name", Text()),
    required("phase", Text()),
    required("checksum", Text()),
    required("applied_at", INTEGER),
    required("release", Text()),
    sqlite_strict=True,
)
"""The ledger of migrations."""
