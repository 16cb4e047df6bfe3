"""Every statement of the hot path, written in Core and compiled once for a dialect."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Dialect,
    FromClause,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    update,
)

from psych_runtime_core.ports.checks import MAX_PAGE_BYTES
from psych_runtime_core.ports.runs import RunState
from psych_runtime_sql.driver import Statement, compiled
from psych_runtime_sql.json_columns import members
from psych_runtime_sql.tables import (
    ENTRY,
    FACT_COLUMNS,
    IS_CLAIMED,
    IS_DUE_LATER,
    IS_READY,
    LOG_COLUMNS,
    RUN,
    VERSION,
    WORK,
)

PROMOTED_AT_ONCE = 256

_AT_ADMISSION = (
    *("run_id", "tenant", "principal", "labels", "name", "request", "idempotency_key"),
    *("priority", "parent_run_id", "root_run_id", "delegation_depth", "continues_run_id"),
    *("created_at", "erased"),
)
_AT_THE_END = ("settled_at", "terminal")
HEADER_COLUMNS = (*_AT_ADMISSION, *_AT_THE_END, *LOG_COLUMNS, "ready_at", "worker_id")
_INDEXED_FACTS = ("version_hash", "parked")
_OTHER_FACTS = tuple(name for name in FACT_COLUMNS if name not in _INDEXED_FACTS)
# A clock that falls back leaves Runs ready whose time has not come by it.
_IS_READY_NOW = and_(IS_READY, WORK.c.ready_at <= bindparam("now"))
LEASE_COLUMNS = ("ready", "ready_at", "worker_id", "claim_id", "expired")


class Statements:
    """The statements, each with the values it takes as its named parameters."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._entries = cache(self._insert_entries)
        # --- headers
        self.header = compiled(headers().where(RUN.c.run_id == bindparam("run_id")), dialect)
        self.headers = compiled(headers().where(RUN.c.run_id.in_(members("run_ids"))), dialect)
        self.insert_run = compiled(_insert(RUN, _AT_ADMISSION), dialect)
        self.insert_work = compiled(_insert(WORK), dialect)
        self.extend = compiled(_extend(), dialect)
        self.update_log = compiled(_update(WORK, LOG_COLUMNS), dialect)
        self.update_work = compiled(_update(WORK, (*LOG_COLUMNS, *LEASE_COLUMNS)), dialect)
        self.take_lease = compiled(_update(WORK, ("epoch", "crashes", *LEASE_COLUMNS)), dialect)
        self.extend_lease = compiled(_update(WORK, ("ready", "ready_at")), dialect)
        self.settle_run = compiled(_update(RUN, (*_AT_THE_END, *LOG_COLUMNS)), dialect)
        self.delete_work = compiled(delete(WORK).where(WORK.c.run_id == bindparam("of_run")), dialect)
        # --- logs
        self.read = compiled(_page(), dialect)
        # --- the queue
        self.promote = compiled(_promote(), dialect)
        self.next_tenant = compiled(_next(WORK.c.tenant), dialect)
        self.ready_tenants = compiled(_ready_tenants(), dialect)
        self.next_version = compiled(
            _next(WORK.c.version_hash).where(WORK.c.tenant == bindparam("tenant")), dialect
        )
        self.pick = compiled(_pick(), dialect)
        self.claimed = compiled(_claimed(), dialect)
        self.leased = compiled(_leased(), dialect)
        # --- what watches ask
        self.heads = compiled(
            select(RUN.c.run_id, latest("head_seq"))
            .select_from(run_and_work())
            .where(RUN.c.run_id.in_(members("run_ids"))),
            dialect,
        )
        self.has_ready = compiled(_has_ready(), dialect)
        self.has_ready_of = compiled(_has_ready(WORK.c.tenant == bindparam("tenant")), dialect)
        # --- Versions
        self.insert_version = compiled(_insert(VERSION), dialect)
        self.version = compiled(select(VERSION.c.body).where(VERSION.c.hash == bindparam("hash")), dialect)

    def insert_entries(self, count: int) -> Statement:
        """Entries of one log, `count` rows at once; the parameters are those of the rows, in column order."""
        return self._entries(count)

    def _insert_entries(self, count: int) -> Statement:
        rows: list[dict[str, Any]] = [
            {column.name: bindparam(f"{column.name}_{row}") for column in ENTRY.c} for row in range(count)
        ]
        return compiled(insert(ENTRY).values(rows), self._dialect)


def run_and_work() -> FromClause:
    """Every Run, with its open half where it has one."""
    return RUN.outerjoin(WORK, RUN.c.run_id == WORK.c.run_id)


def latest(name: str) -> ColumnElement[Any]:
    """A column that stands in `psych_work` while the Run is open, and in `psych_run` after."""
    return func.coalesce(WORK.c[name], RUN.c[name])


def header_columns() -> tuple[ColumnElement[Any], ...]:
    """`HEADER_COLUMNS`, of `run_and_work()`."""
    cold = (RUN.c[name] for name in (*_AT_ADMISSION, *_AT_THE_END))
    log = (latest(name).label(name) for name in LOG_COLUMNS)
    return (*cold, *log, WORK.c.ready_at, WORK.c.worker_id)


def headers(*more: ColumnElement[Any]) -> Select[Any]:
    """Headers, and more, of every Run."""
    return select(*header_columns(), *more).select_from(run_and_work())


def _insert(table: Table, names: tuple[str, ...] = ()) -> Any:
    """A row: all columns that are written, or those named."""
    written = names or tuple(column.name for column in table.c if column.computed is None)
    return insert(table).values({name: bindparam(name) for name in written})


def _update(table: Table, names: tuple[str, ...]) -> Any:
    return (
        update(table)
        .where(table.c.run_id == bindparam("of_run"))
        .values({name: bindparam(name) for name in names})
    )


def _extend() -> Any:
    """The holder's append, guarded: it finds no row unless lease and head are as they should be.

    What indexes are made of it compares as well, and so leaves every index alone.
    """
    return (
        update(WORK)
        .where(
            WORK.c.run_id == bindparam("of_run"),
            WORK.c.head_seq == bindparam("after_seq"),
            WORK.c.head_digest == bindparam("after_digest"),
            WORK.c.worker_id == bindparam("of_worker"),
            WORK.c.epoch == bindparam("of_epoch"),
            WORK.c.ready_at > bindparam("now"),
            *(WORK.c[name] == bindparam(name) for name in _INDEXED_FACTS),
        )
        .values({name: bindparam(name) for name in ("head_seq", "head_digest", *_OTHER_FACTS)})
        .values(crashes=WORK.c.crashes * bindparam("crashes_kept"))
        .returning(WORK.c.run_id)
    )


def _page() -> Select[Any]:
    """Entries behind a seq: as many as asked for and as fit, one at least."""
    # A log may be there before its header is, and after.
    stands = exists().where(RUN.c.run_id == bindparam("run_id"))
    after = and_(ENTRY.c.run_id == bindparam("run_id"), ENTRY.c.seq > bindparam("after"), stands)
    size = func.length(ENTRY.c.body).label("size")
    asked = (
        select(ENTRY.c.seq, size)
        .where(after)
        .order_by(ENTRY.c.seq)
        .limit(bindparam("limit"))
        .subquery("asked")
    )
    total = func.sum(asked.c.size).over(order_by=asked.c.seq).label("total")
    sizes = select(asked.c.seq, total).subquery("sizes")
    fits = or_(sizes.c.total <= MAX_PAGE_BYTES, sizes.c.seq == bindparam("after") + 1)
    last = select(func.max(sizes.c.seq)).where(fits).scalar_subquery()
    columns = (column for column in ENTRY.c if column.name != "run_id")
    return select(*columns).where(after, ENTRY.c.seq <= last).order_by(ENTRY.c.seq)


def _promote() -> Any:
    """What is due becomes ready, so that a pick steps over nothing."""
    due = (
        select(WORK.c.run_id)
        .where(IS_DUE_LATER, WORK.c.ready_at <= bindparam("now"))
        .order_by(WORK.c.ready_at, WORK.c.run_id)
        .limit(PROMOTED_AT_ONCE)
    )
    return update(WORK).where(WORK.c.run_id.in_(due)).values(ready=true()).returning(WORK.c.run_id)


def _next(column: Column[Any]) -> Select[Any]:
    """The next value of an index column: one probe, however many rows share a value."""
    return select(column).where(IS_READY, column > bindparam("behind")).order_by(column).limit(1)


def _ready_tenants() -> Select[Any]:
    """Those of some tenants that have ready work."""
    named = members("tenants").subquery("named")
    has_work = exists().where(IS_READY, WORK.c.tenant == named.c.value)
    return select(named.c.value).where(has_work)


def _pick() -> Select[Any, Any, Any]:
    """The first ready Runs of a tenant and Version, with what orders them."""
    return (
        select(WORK.c.priority, WORK.c.ready_at, WORK.c.run_id)
        .where(
            _IS_READY_NOW,
            WORK.c.tenant == bindparam("tenant"),
            WORK.c.version_hash == bindparam("version_hash"),
            WORK.c.run_id.not_in(members("exclude")),
        )
        .order_by(WORK.c.priority.desc(), WORK.c.ready_at, WORK.c.run_id)
        .limit(bindparam("limit"))
    )


def _claimed() -> Select[Any]:
    """What a Worker holds under a request: headers, and whether each was taken over."""
    return (
        headers(WORK.c.expired)
        .where(
            IS_CLAIMED,
            WORK.c.worker_id == bindparam("worker_id"),
            WORK.c.claim_id == bindparam("claim_id"),
            WORK.c.ready_at > bindparam("now"),
        )
        .order_by(WORK.c.run_id)
    )


def _leased() -> Select[Any]:
    """How many Runs of a tenant are leased now, counted up to a limit."""
    leased = select(literal(1)).where(
        WORK.c.state == literal(RunState.RUNNING.value),
        WORK.c.tenant == bindparam("tenant"),
        WORK.c.ready_at > bindparam("now"),
    )
    return select(func.count()).select_from(leased.limit(bindparam("limit")).subquery("leased"))


def _has_ready(*also: ColumnElement[bool]) -> Select[Any]:
    """Whether anything can be claimed; `also` narrows what is ready, not what has just become due."""
    due = and_(IS_DUE_LATER, WORK.c.ready_at <= bindparam("now"))
    return select(or_(exists().where(_IS_READY_NOW, *also), exists().where(due)))
