"""Faults of claims: who gets what, in which order, and what is told of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from psych_runtime_contract.store.mutants.base import Mutant, over
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.ports.claims import Claim, ClaimRequest, Claims
from psych_runtime_core.ports.runs import Lease, RunHeader, RunState
from psych_runtime_memory.live import InMemoryLive
from psych_runtime_memory.queue import RunQueue, Standing
from psych_runtime_memory.ready import ReadyRuns
from psych_runtime_memory.runs import Runs
from psych_runtime_memory.watches import Watches


class ClaimNotExclusive(Runs):
    def _claim(self, asked: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        claims = super()._claim(asked, now)
        for claim in claims:
            self._keep(claim.header.model_copy(update={"ready_at": now}), now)
        return claims


class RepeatedClaimTakesMore(Runs):
    def claim(self, asked: ClaimRequest, now: datetime) -> Claims:
        held = self._held(asked, now)
        left = asked.limit - len(held)
        if not held or left <= 0:
            return super().claim(asked, now)
        return Claims(held + self._claim(replace(asked, limit=left), now))


class MoreNeverTold(Runs):
    def claim(self, asked: ClaimRequest, now: datetime) -> Claims:
        return Claims(super().claim(asked, now).claims)


class LeasesEndHintsNobody(Runs):
    def _keep(self, header: RunHeader, now: datetime) -> None:
        before, watches = self._headers.get(header.run_id), self._watches
        if before and before.lease and header.lease is None:
            self._watches = Watches(watches.clock)
        super()._keep(header, now)
        if self._watches is not watches:
            self._watches = watches
            self._watches.tell_changed(header.run_id, header.head.seq)


class SettledClaimable(Runs):
    def _claim(self, asked: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        claims = super()._claim(asked, now)
        settled = [header for header in self._headers.values() if header.terminal]
        if claims or not settled:
            return claims
        lease = Lease(settled[0].run_id, asked.worker_id, settled[0].epoch + 1, now + timedelta(seconds=30))
        return (Claim(settled[0], lease),)


class LeftOutVersionHidesItsTenant(Runs):
    def _claim(self, asked: ClaimRequest, now: datetime) -> tuple[Claim, ...]:
        skipped = asked.only.skip_versions
        hidden = {each.scope.tenant for each in self._headers.values() if each.version_hash in skipped}
        shown = {each.scope.tenant for each in self._headers.values()} - hidden
        tenants = frozenset(shown if asked.only.tenants is None else asked.only.tenants & shown)
        return super()._claim(replace(asked, only=replace(asked.only, tenants=tenants)), now)


# --- order -------------------------------------------------------------------------------------------------


class ByKey(RunQueue):
    """The queue in one order for all tenants."""

    def key(self, header: RunHeader) -> Any:
        return header.ready_at, header.run_id

    def picks(self, asked: ClaimRequest, now: datetime) -> Iterator[RunHeader]:
        for _ in range(asked.limit):
            self.promote(now)
            with self._without(asked.only.exclude):
                headers = [each for each in self._headers.values() if self._may(asked, each, now)]
            if not headers:
                return
            yield min(headers, key=self.key)

    def _may(self, asked: ClaimRequest, header: RunHeader, now: datetime) -> bool:
        only = asked.only
        cap = only.cap_of(header.scope.tenant)
        return (
            header.ready_at is not None
            and header.ready_at <= now
            and header.run_id not in only.exclude
            and header.version_hash not in only.skip_versions
            and (only.tenants is None or header.scope.tenant in only.tenants)
            and (cap is None or self.counts[header.scope.tenant, RunState.RUNNING, False] < cap)
        )


class PriorityAcrossTenants(ByKey):
    def key(self, header: RunHeader) -> Any:
        return -header.priority, header.ready_at, header.run_id


class VersionByVersion(ReadyRuns):
    def first(self, tenant: str, skipped: frozenset[VersionHash]) -> RunHeader | None:
        versions = self._tenants.get(tenant, {})
        named = sorted(versions.keys() - skipped)
        first = versions[named[0]].first() if named else None
        return self._headers[first[1]] if first else None


class PriorityWithinAVersionOnly(RunQueue):
    def __init__(self, headers: Any) -> None:
        super().__init__(headers)
        self.ready = VersionByVersion(headers)


class CapNeverFreed(RunQueue):
    def _forget(self, standing: Standing) -> None:
        if standing[1:] != (RunState.RUNNING, False):
            super()._forget(standing)


def queued(queue: type[RunQueue]) -> type[Runs]:
    """Runs in such a queue."""

    class Queued(Runs):
        def __init__(self, headers: dict[RunId, RunHeader], watches: Watches, live: InMemoryLive) -> None:
            super().__init__(headers, watches, live)
            self._queue = queue(headers)

    return Queued


class ReadyOnceIsReadyForGood(RunQueue):
    def _follow(self, now: datetime) -> None:
        pass


class CapOffByOne(RunQueue):
    def picks(self, asked: ClaimRequest, now: datetime) -> Iterator[RunHeader]:
        return super().picks(
            replace(asked, only=replace(asked.only, tenant_concurrency=self.raised(asked))), now
        )

    def raised(self, asked: ClaimRequest) -> int | Mapping[str, int] | None:
        """The caps and one more."""
        cap = asked.only.tenant_concurrency
        if cap is None or isinstance(cap, int):
            return cap and cap + 1
        return {name: each + 1 for name, each in cap.items()}


SLOT = "test_a_slot_is_free_when_a_lease_has_come_to_its_end"
CAP = "test_a_tenant_has_no_more_leases_than_its_cap"
AGAIN = "test_asking_again_gives_the_same_claims_and_no_more"
MORE = "test_more_is_told_where_a_cap_alone_left_work"
LEASES_END = "test_the_end_of_a_lease_tells_of_ready_work_of_its_tenant"
OVER_VERSIONS = "test_priority_counts_over_versions"
OVER_TENANTS = "test_priority_moves_no_tenant_ahead_of_another"
FLOOD = "test_a_flood_of_one_tenant_does_not_keep_another_waiting"
FELL_BACK = "test_what_is_ready_no_more_since_the_clock_fell_back_is_in_nobodys_way"
CLAIMS = (
    Mutant(
        "claim not exclusive",
        over(ClaimNotExclusive),
        "test_of_twelve_workers_one_gets_the_run",
        "run_a",
        also=(SLOT, CAP, AGAIN, MORE, LEASES_END, FELL_BACK),
    ),
    Mutant(
        "repeated claim takes more",
        over(RepeatedClaimTakesMore),
        AGAIN,
        "claims",
    ),
    Mutant(
        "`more` never told",
        over(MoreNeverTold),
        MORE,
        "is True",
        also=(CAP, LEASES_END),
    ),
    Mutant(
        "lease's end hints nobody",
        over(LeasesEndHintsNobody),
        LEASES_END,
        "ready",
    ),
    Mutant(
        "settled claimable",
        over(SettledClaimable),
        "test_a_settled_run_is_never_claimed",
        r"== \[\]",
        also=(LEASES_END,),
    ),
    Mutant(
        "left-out Version hides its tenant",
        over(LeftOutVersionHidesItsTenant),
        "test_a_version_left_out_hides_neither_its_tenant_nor_others",
        "known",
    ),
    Mutant(
        "plain FIFO",
        over(queued(ByKey)),
        FLOOD,
        "lone",
        also=(OVER_VERSIONS, OVER_TENANTS, FELL_BACK),
    ),
    Mutant(
        "priority across tenants",
        over(queued(PriorityAcrossTenants)),
        OVER_TENANTS,
        "globex",
        also=(FLOOD,),
    ),
    Mutant(
        "priority within a Version only",
        over(queued(PriorityWithinAVersionOnly)),
        OVER_VERSIONS,
        r"\['c', 'b', 'a'\]",
    ),
    Mutant(
        "ready by a clock that fell back",
        over(queued(ReadyOnceIsReadyForGood)),
        FELL_BACK,
        "ready",
    ),
    Mutant(
        "cap off by one",
        over(queued(CapOffByOne)),
        CAP,
        "acme_2",
        also=(SLOT, MORE, LEASES_END),
    ),
    Mutant(
        "cap never freed",
        over(queued(CapNeverFreed)),
        SLOT,
        r"\[\] == \['acme_1'\]",
        also=(LEASES_END,),
    ),
)
