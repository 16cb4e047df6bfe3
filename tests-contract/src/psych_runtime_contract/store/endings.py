"""Runs that are over, as purges and erasures meet them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psych_runtime_contract.store.scenes import START, admission, admit_all
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records.facts import TerminalState

ACME = RunQuery(tenant="acme")
MOST_CALLS = 100
"""So often a purge or an erasure is repeated at most; each that is not the last gets further."""

OVER: dict[str, Any] = {
    "terminal": TerminalState.COMPLETED,
    "settled_at": START,
    "ready_at": None,
}


def over(run_id: str, **also: Any) -> Admit:
    """A Run whose log has its end."""
    write = admission(run_id, bodies=[b"admitted", b"ended"], **{**OVER, **also})
    return replace(write, entries=(write.entries[0], replace(write.entries[1], type="run_settled")))


def child(run_id: str, parent: str, root: str, depth: int = 1, **also: Any) -> Admit:
    """A Run below another; it is over, too."""
    place: dict[str, Any] = {"parent_run_id": parent, "root_run_id": root, "delegation_depth": depth}
    return over(run_id, **place, **also)


async def store_all(store: Store, *writes: Admit) -> None:
    """Store them: of a tenant as many at once as may be. One with a key stands alone."""
    together: dict[str, list[Admit]] = {}
    for write in writes:
        if write.header.idempotency_key is None:
            together.setdefault(write.header.scope.tenant, []).append(write)
        else:
            await store.admit(write.header, write.entries)
    for of_a_tenant in together.values():
        await admit_all(store, *of_a_tenant)


def of(*run_ids: str, **also: Any) -> RunQuery:
    """A query for these Runs."""
    return RunQuery(run_ids=frozenset(map(RunId, run_ids)), **also)


def ids(headers: Sequence[RunHeader]) -> list[str]:
    return [header.run_id for header in headers]


async def there(store: Store) -> set[str]:
    """The Runs of the tenant that are found."""
    page = await store.find_runs(ACME)
    found = ids(page.items)
    while page.cursor is not None:
        page = await store.find_runs(ACME, page.cursor)
        found += ids(page.items)
    return set(found)
