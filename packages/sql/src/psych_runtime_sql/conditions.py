"""The conditions of a query, in SQL. They hold of a row where `matches` holds of its header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, and_, case, false, func, literal, or_, true

from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import SETTLED_LIFECYCLE, Lifecycle, RunState
from psych_runtime_sql.json_columns import has_first, has_pair, members_of
from psych_runtime_sql.rows import micros
from psych_runtime_sql.statements import latest
from psych_runtime_sql.tables import RUN, WORK

Condition = Callable[[Any], ColumnElement[bool]]


def _is_one_of(column: ColumnElement[Any], values: Iterable[StrEnum]) -> ColumnElement[bool]:
    return or_(false(), *(column == literal(value.value) for value in values))


def _state() -> ColumnElement[Any]:
    return func.coalesce(WORK.c.state, literal(RunState.SETTLED.value))


def _lifecycle() -> ColumnElement[Any]:
    return case(
        *(
            (RUN.c.terminal == literal(end.value), literal(life.value))
            for end, life in SETTLED_LIFECYCLE.items()
        ),
        (latest("stopping") == true(), literal(Lifecycle.STOPPING.value)),
        (latest("parked") == true(), literal(Lifecycle.WAITING.value)),
        (latest("attempt_count") == literal(0), literal(Lifecycle.QUEUED.value)),
        else_=literal(Lifecycle.RUNNING.value),
    )


def _has_labels(labels: Mapping[str, str]) -> ColumnElement[bool]:
    return and_(*(has_pair(RUN.c.labels, key, value) for key, value in labels.items()))


def _equals(column: ColumnElement[Any]) -> Condition:
    return lambda value: column == literal(value)


CONDITIONS: Mapping[str, Condition] = {
    "tenant": _equals(RUN.c.tenant),
    "principal": _equals(RUN.c.principal),
    "labels": _has_labels,
    "name": _equals(RUN.c.name),
    "version_hash": _equals(latest("version_hash")),
    "parent_run_id": _equals(RUN.c.parent_run_id),
    "root_run_id": _equals(RUN.c.root_run_id),
    "continues_run_id": _equals(RUN.c.continues_run_id),
    "idempotency_key": _equals(RUN.c.idempotency_key),
    "run_ids": lambda run_ids: RUN.c.run_id.in_(members_of(run_ids)),
    "states": lambda states: _is_one_of(_state(), states),
    "lifecycles": lambda lifecycles: _is_one_of(_lifecycle(), lifecycles),
    "terminals": lambda terminals: _is_one_of(RUN.c.terminal, terminals),
    "waits": lambda reasons: has_first(latest("waits"), [reason.value for reason in reasons]),
    "blobs": lambda blobs: latest("blobs") == literal(blobs),
    "created_after": lambda after: RUN.c.created_at >= literal(micros(after)),
    "created_before": lambda before: RUN.c.created_at < literal(micros(before)),
    "settled_before": lambda before: RUN.c.settled_at < literal(micros(before)),
}


def condition(name: str, query: RunQuery) -> ColumnElement[bool]:
    """One of the conditions that `query` sets."""
    return CONDITIONS[name](getattr(query, name))
