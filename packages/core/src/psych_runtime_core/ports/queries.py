"""Which Runs are meant, and how a long answer comes in pages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.ports.runs import OPEN_STATES, SETTLED_LIFECYCLE, Lifecycle, RunHeader, RunState
from psych_runtime_core.records.base import Instant
from psych_runtime_core.records.facts import SuspendReason, TerminalState

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

MAX_CURSOR = 512
LOOKED_AT = 20
"""For each Run that a page may have, a search looks at so many."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """A piece of a long answer. It may be short or empty: only `cursor=None` is the end."""

    items: tuple[T_co, ...]
    cursor: str | None = None


async def pages(
    ask: Callable[[str | None], Awaitable[Page[T]]], cursor: str | None = None
) -> AsyncGenerator[Page[T]]:
    """Every page of a long answer, from the one at `cursor` on, each asked for when it is wanted."""
    while True:
        page = await ask(cursor)
        yield page
        if page.cursor is None:
            return
        cursor = page.cursor


class RunQuery(BaseModel):
    """Conditions on Runs. All must hold; of a set one member must; what is None or `{}` is no condition.

    A set without members is met by no Run. `labels` must all be there and equal. `waits`: an open Wait of
    one of these reasons. Instants are `after <= x < before`. `limit` is how many a page has, or how many
    trees a purge takes; an erasure has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    tenant: str | None = None
    principal: str | None = None
    labels: Mapping[str, str] = {}
    name: str | None = None
    version_hash: VersionHash | None = None
    parent_run_id: RunId | None = None
    root_run_id: RunId | None = None
    continues_run_id: RunId | None = None
    idempotency_key: str | None = None
    run_ids: Annotated[frozenset[RunId] | None, Field(max_length=1_000)] = None
    states: frozenset[RunState] | None = None
    lifecycles: frozenset[Lifecycle] | None = None
    terminals: frozenset[TerminalState] | None = None
    waits: frozenset[SuspendReason] | None = None
    blobs: bool | None = None
    created_after: Instant | None = None
    created_before: Instant | None = None
    settled_before: Instant | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50

    @property
    def conditions(self) -> Mapping[str, object]:
        """Those that are set, by name."""
        return {name: value for name, value in self if name != "limit" and value is not None and value != {}}


def matches(query: RunQuery, header: RunHeader) -> bool:
    """Whether every condition of `query` holds of a Run."""
    return all(_HOLDS[name](header, wanted) for name, wanted in query.conditions.items())


def open_states(query: RunQuery) -> Sequence[RunState]:
    """The states of the Runs that a query is about; none where it is about settled ones as well."""
    if query.states is not None:
        return () if RunState.SETTLED in query.states else sorted(query.states)
    if query.lifecycles is not None and query.lifecycles.isdisjoint(SETTLED_LIFECYCLE.values()):
        return OPEN_STATES
    return ()


_HOLDS: Mapping[str, Callable[[RunHeader, Any], bool]] = {
    "tenant": lambda header, tenant: header.scope.tenant == tenant,
    "principal": lambda header, principal: header.scope.principal == principal,
    "labels": lambda header, labels: labels.items() <= header.scope.labels.items(),
    "name": lambda header, name: header.name == name,
    "version_hash": lambda header, version_hash: header.version_hash == version_hash,
    "parent_run_id": lambda header, run_id: header.parent_run_id == run_id,
    "root_run_id": lambda header, run_id: header.root_run_id == run_id,
    "continues_run_id": lambda header, run_id: header.continues_run_id == run_id,
    "idempotency_key": lambda header, key: header.idempotency_key == key,
    "run_ids": lambda header, run_ids: header.run_id in run_ids,
    "states": lambda header, states: header.state in states,
    "lifecycles": lambda header, lifecycles: header.lifecycle in lifecycles,
    "terminals": lambda header, terminals: header.terminal in terminals,
    "waits": lambda header, reasons: any(reason in reasons for reason, _ in header.waits),
    "blobs": lambda header, blobs: header.blobs == blobs,
    "created_after": lambda header, after: header.created_at >= after,
    "created_before": lambda header, before: header.created_at < before,
    "settled_before": lambda header, before: header.settled_at is not None and header.settled_at < before,
}


# --- places in the order of pages: newest first, ties by id ------------------------------------------------

Place = tuple[datetime, RunId]


def cursor_behind(query: RunQuery, place: Place) -> str:
    """Where the next page of `query` begins: behind `place`."""
    created_at, run_id = place
    return f"{_fingerprint(query)}|{created_at.isoformat()}|{run_id}"


def place_of(query: RunQuery, cursor: str) -> Place:
    """The place that `cursor` names. Raises `ValueError` for one that is not of `query`."""
    fingerprint, _, place = cursor.partition("|")
    created_at, _, run_id = place.partition("|")
    if len(cursor) > MAX_CURSOR or fingerprint != _fingerprint(query):
        raise ValueError("this cursor is of another query; page with the query that it came from")
    return datetime.fromisoformat(created_at), RunId(run_id)


def _fingerprint(query: RunQuery) -> str:
    """Equal for equal conditions: a cursor may be continued with another limit."""
    given: dict[str, Any] = query.model_dump(mode="json", include=set(query.conditions))
    # A set comes as a list, in whatever order.
    sets = {name: sorted(given[name]) for name, value in query if isinstance(value, frozenset)}
    return sha256(encode_json({**given, **sets})).hexdigest()[:32]
