"""For whom a call is made, and which Runs it may reach."""

from __future__ import annotations

from psych_runtime.api.arguments import identifier, of_kind
from psych_runtime.api.scoped import ScopedStore, refuse_another_scope, refuse_another_tenant
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.scope import Scope


def scope_of(store: Store, scope: Scope | None) -> Scope | None:
    """The Scope that a call is held to: the one given, else that of a scoped store; None trusts the caller.

    Raises `AccessDenied` where a scoped store is asked under another one.
    """
    if scope is not None:
        of_kind("scope", scope, Scope)
    if not isinstance(store, ScopedStore):
        return scope
    if scope is not None:
        refuse_another_scope(store, scope)
    return store.scope


def author(by: str | None, scope: Scope | None) -> str | None:
    """Who a record names: `by`, else the principal of the Scope."""
    if by is not None:
        return identifier("by", by)
    return scope.principal if scope else None


async def header_of(store: Store, run_id: RunId, scope: Scope | None) -> RunHeader:
    """The header of a Run that `scope` may reach. Raises `RunNotFound`, `AccessDenied`."""
    header = await store.get_run(run_id)
    if scope is not None:
        refuse_another_tenant(header, scope)
    return header


def allow_admission(store: Store, header: RunHeader, scope: Scope | None) -> None:
    """Raise `AccessDenied` for a Run that may not be admitted here under `scope`."""
    if isinstance(store, ScopedStore):
        store.allow_admission(header)
    elif scope is not None:
        refuse_another_tenant(header, scope)
