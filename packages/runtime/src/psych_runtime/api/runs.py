"""Which Runs there are."""

from __future__ import annotations

from psych_runtime.api.access import scope_of
from psych_runtime.api.arguments import of_kind, whole
from psych_runtime.api.scoped import within
from psych_runtime_core.ports.queries import Page, RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.scope import Scope

ANY = RunQuery()


async def runs(
    store: Store,
    *,
    scope: Scope | None,
    query: RunQuery = ANY,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[RunHeader]:
    """A page of the Runs that match, newest first, at most `limit` (1 to 1 000); it may be short.

    `scope` leaves those of its tenant; None trusts the caller with everybody's. The next page is had with
    the page's `cursor`; only `cursor=None` is the end. Raises `ValueError` for a cursor of another query,
    and `AccessDenied` for a query that names another tenant.
    """
    held = scope_of(store, scope)
    asked = of_kind("query", query, RunQuery)
    asked = asked.model_copy(update={"limit": whole("limit", limit, 1, 1_000)})
    if cursor is not None:
        of_kind("cursor", cursor, str)
    return await store.find_runs(within(asked, held) if held else asked, cursor)
