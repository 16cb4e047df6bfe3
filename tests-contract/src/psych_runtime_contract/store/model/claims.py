"""Who is to be claimed, restated: tenants in turn as far as their caps let, inside a tenant by order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from psych_runtime_contract.store.model.runs import StoreModel
from psych_runtime_core.ids import WorkerId
from psych_runtime_core.ports.claims import ClaimFilter
from psych_runtime_core.ports.runs import Lease


@dataclass(frozen=True)
class Asked:
    """What a claim asks for."""

    worker_id: WorkerId
    limit: int
    seconds: float
    only: ClaimFilter
    request_id: str | None


class ClaimModel(StoreModel):
    """Claims over those dicts."""

    def claimable(self, only: ClaimFilter) -> dict[str, list[str]]:
        """What a claim may take of, by tenant, in order. Caps are not looked at."""
        ready = [self.runs[run_id] for run_id in self.ready()]
        ready.sort(key=lambda run: (-run["priority"], run["ready_at"], run["run_id"]))
        found: dict[str, list[str]] = {}
        for run in ready:
            tenant = run["scope"].tenant
            if run["run_id"] in only.exclude or run["version_hash"] in only.skip_versions:
                continue
            if only.tenants is None or tenant in only.tenants:
                found.setdefault(tenant, []).append(run["run_id"])
        return found

    def room(self, tenant: str, only: ClaimFilter) -> float:
        """How many more Runs of a tenant may be leased."""
        caps = only.tenant_concurrency
        cap = caps if caps is None or isinstance(caps, int) else caps.get(tenant, caps.get("*"))
        held = [run for run in self.runs.values() if run["scope"].tenant == tenant and run["lease"]]
        live = sum(run["lease"].expires_at > self.now for run in held)
        return float("inf") if cap is None else max(0, cap - live)

    def check_claimed(self, asked: Asked, taken: Sequence[str]) -> None:
        """As many as may be, of as many tenants as may be, of each tenant the first."""
        limit, only = asked.limit, asked.only
        ready = self.claimable(only)
        most = {tenant: min(len(ids), self.room(tenant, only)) for tenant, ids in ready.items()}
        assert len(taken) == min(limit, sum(most.values())), "a claim takes what it may, and no more"
        turns = {tenant: [run_id for run_id in taken if run_id in ids] for tenant, ids in ready.items()}
        assert sum(map(bool, turns.values())) == min(limit, sum(map(bool, most.values()))), (
            "tenants take turns"
        )
        for tenant, ids in turns.items():
            assert len(ids) <= most[tenant], "a tenant has no more leases than its cap"
            assert ids == ready[tenant][: len(ids)], "inside a tenant: priority, age, id"

    def leaves_more(self, asked: Asked, taken: Sequence[str]) -> bool:
        """Whether a claim that took these must tell of more: before it is noted."""
        return len(taken) < min(asked.limit, sum(map(len, self.claimable(asked.only).values())))

    def held(self, asked: Asked) -> dict[str, bool]:
        """The Runs leased under a request, and whether each had been reclaimed."""
        if asked.request_id is None:
            return {}
        return {
            run_id: reclaimed
            for run_id, (*request, reclaimed) in self.asked.items()
            if request == [asked.worker_id, asked.request_id]
            and self.runs[run_id]["lease"].expires_at > self.now
        }

    def claim(self, asked: Asked, run_id: str) -> bool:
        """Lease a Run; whether its last lease had expired."""
        run, end = self.runs[run_id], self.now + timedelta(seconds=asked.seconds)
        expired = run["lease"] is not None
        run["crashes"] += expired
        run["epoch"] += 1
        run["lease"], run["ready_at"] = Lease(run["run_id"], asked.worker_id, run["epoch"], end), end
        self.asked[run_id] = (asked.worker_id, asked.request_id, expired)
        return expired
