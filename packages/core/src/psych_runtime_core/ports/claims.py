"""How a Worker gets Runs and keeps them: what a claim leaves out, what it takes, what a renewal answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.runs import Lease, RunHeader
from psych_runtime_core.records import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFilter:
    """What a claim takes of, and leaves out; each set has at most 1 000 members.

    `tenants`: these alone. `tenant_concurrency`: how many Runs of a tenant may be leased at once over all
    Workers, one number for each or by tenant with `"*"` for the rest. `skip_versions` cannot be served here,
    `exclude` not now. What is left out keeps its place.
    """

    tenants: frozenset[str] | None = None
    tenant_concurrency: int | Mapping[str, int] | None = None
    skip_versions: frozenset[VersionHash] = frozenset()
    exclude: frozenset[RunId] = frozenset()

    def cap_of(self, tenant: str) -> int | None:
        """How many Runs of `tenant` may be leased at once; None for any number."""
        caps = self.tenant_concurrency
        if caps is None or isinstance(caps, int):
            return caps
        return caps.get(tenant, caps.get("*"))


ANY_RUN = ClaimFilter()


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a Worker asks for."""

    worker_id: WorkerId
    limit: int = 1
    lease_seconds: float = 30.0
    only: ClaimFilter = ANY_RUN
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A Run, leased. `reclaimed`: its last lease had expired; the Worker that held it is gone or late."""

    header: RunHeader
    lease: Lease
    reclaimed: bool = False


@dataclass(frozen=True, slots=True)
class Claims:
    """The Runs that one claim took.

    `more`: fewer than asked for, though work that the filter lets through is left, for a cap or because
    others hold its rows. Claim again when a slot frees.
    """

    claims: tuple[Claim, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Renewed:
    """What became of a lease.

    `kept`: `lease` has its new end, `head` is the log's present head. `busy`: as it was, ask again.
    `lost`: it is not the live one.
    """

    lease: Lease
    outcome: Literal["kept", "busy", "lost"]
    head: Head | None = None
