"""What the rules draw: names, admissions, appends, filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from psych_runtime_contract.store.machine.example import Example
from psych_runtime_contract.store.model.queries import QueryModel
from psych_runtime_contract.store.scenes import (
    SETTLE,
    START,
    WAKE,
    admission,
    batch,
    rest,
)
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.ports.claims import ClaimFilter
from psych_runtime_core.ports.runs import HeaderFacts, Lease, RunHeader
from psych_runtime_core.ports.writes import UNCHANGED, Admit, Append, HeaderChange
from psych_runtime_core.records import Entry, Head
from psych_runtime_core.records.facts import SuspendReason, TerminalState
from psych_runtime_core.scope import Scope

SLOTS, TENANTS, WORKERS = "abcd", ("acme", "Acme", "globex"), ("one", "one", "two", "three")
VERSIONS = [VersionHash("version_a"), VersionHash("version_b")]
ADMISSIONS = st.fixed_dictionaries(
    {
        "slot": st.sampled_from(SLOTS),
        "tenant": st.sampled_from([*TENANTS, "acme", "acme"]),
        "key": st.sampled_from([None, "order", "order", "Order"]),
        "priority": st.integers(-1, 1),
        "version_hash": st.sampled_from(VERSIONS),
        "request": st.sampled_from([b"\x01" * 32, b"\x01" * 32, b"\x01" * 32, b"\x02" * 32]),
        "pending": st.integers(0, 2),
        "created_at": st.sampled_from([START, START + timedelta(seconds=1)]),
        "principal": st.sampled_from([None, "ada"]),
        "labels": st.sampled_from([{}, {"team": "support"}]),
        "relation": st.sampled_from([None, "child", "heir"]),
        "past": st.sampled_from([None, None, None, "open", "over"]),
    }
)
SECONDS = st.sampled_from([None, -5, 0, 0, 0, 5.000_001, 60])
AGAIN = (None, -5, 5.000_001)
LEASE_SECONDS = st.sampled_from([1, 30, 60])
WAITS = st.sampled_from([(), ((SuspendReason.APPROVAL, 2**40),), ((SuspendReason.APPROVAL, 3),) * 2])
LEFT_OUT = st.sampled_from([{}, {}, {"tenant_concurrency": 1}, {"skip_versions": frozenset(VERSIONS[:1])}])
FAR_EPOCH = 2**33
RESTING, GROWING = st.integers(0, 2), st.sampled_from([0, *[1, 2] * 5])
"""So many entries an append has: only a rest may be without."""
FALLS = st.sampled_from([0.000_001, 1, 30, 60])
PASSING = st.sampled_from([0.000_001, 1, 29.999_999, 30, 60, 3_600, 30 * 86_400])


class Drawing(Example):
    """What the calls on Runs are made of."""

    def __init__(self) -> None:
        super().__init__()
        self.model = QueryModel(self.time.now())
        self.leases: list[Lease] = []

    @property
    def held_leases(self) -> list[Lease]:
        """Those that nobody gave back or took over, be they over or not."""
        return [run["lease"] for run in self.model.runs.values() if run["lease"]]

    @property
    def free_slots(self) -> list[str]:
        """Those in which no Run stands."""
        return [slot for slot in SLOTS if self.named(slot) not in self.model.runs]

    @property
    def dated_keys(self) -> list[tuple[str, str]]:
        """Those that answer for a Run that is gone or erased, and for how long."""
        return [name for name, key in self.model.keys.items() if key.until is not None]

    def heads(self, run_id: str, right: int = 8) -> list[Head]:
        """Where the log ends, so often, and where it does not."""
        heads = [entry.head for entry in self.model.logs.get(run_id, ())] or [Head(1, b"\x01" * 32)]
        return [heads[-1]] * right + [Head(heads[-1].seq, b"\xff" * 32), *heads[-3:-1]]

    # --- admissions --------------------------------------------------------------------------------------

    def admission(self, fields: Mapping[str, Any], seconds: float | None) -> Admit:
        drawn = dict(fields)
        slot, tenant = drawn.pop("slot"), self.named(drawn.pop("tenant"))
        scope = Scope(tenant=tenant, principal=drawn.pop("principal"), labels=drawn.pop("labels"))
        related = self.related(drawn.pop("relation"), tenant)
        past, key = drawn.pop("past"), drawn.pop("key")
        # Which of the two answers is open: the erased Run by its id, or the Run whose key it is.
        erased = self.model.runs.get(self.named(slot), {}).get("erased")
        write = admission(
            self.named(slot),
            bodies=[self.body(), self.body()] if past else [self.body()],
            **drawn,
            **related,
            scope=scope,
            ready_at=None if past else self.instant(seconds),
            idempotency_key=None if erased else key,
        )
        return with_past(write, over=past == "over") if past else write

    def related(self, relation: str | None, tenant: str) -> dict[str, Any]:
        """How a Run stands to another of its tenant: to one that is over, if there is one."""
        others = [run for run in self.model.runs.values() if run["scope"].tenant == tenant]
        if relation is None or not others:
            return {}
        other = min(others, key=lambda run: run["terminal"] is None)
        if relation == "heir":
            return {"continues_run_id": other["run_id"]}
        return {"parent_run_id": other["run_id"], "root_run_id": other["root_run_id"], "delegation_depth": 1}

    # --- appends -----------------------------------------------------------------------------------------

    def plain(self, run_id: RunId, change: HeaderChange, lease: Lease | None = None) -> Append:
        """An append at which nothing is wrong."""
        after, epoch = self.model.runs[run_id]["head"], lease.epoch if lease else 0
        entries = batch(after, self.body(), epoch=epoch, settles=bool(change.terminal))
        return Append(run_id, after, entries, change, lease)

    def appending(self, data: st.DataObject, run_id: str, lease: Lease | None = None) -> Append:
        """An append under this lease, or under an earlier one, or under none."""
        leases = [each for each in self.leases if each.run_id == run_id]
        lease = lease or data.draw(st.sampled_from([None, None, *leases[-2:]]))
        change = data.draw(self.held_changes() if lease else st.sampled_from([UNCHANGED, WAKE]))
        if data.draw(st.booleans()):
            change = replace(change, facts=self.facts(data))
        if lease:
            change = replace(change, progress=data.draw(st.booleans()))
        after = data.draw(st.sampled_from(self.heads(run_id)))
        bodies = [self.body() for _ in range(data.draw(RESTING if change.action == "rest" else GROWING))]
        entries = batch(after, *bodies, epoch=lease.epoch if lease else 0, settles=bool(change.terminal))
        gap = data.draw(st.sampled_from([0] * 9 + [1]))
        return Append(RunId(run_id), after, moved_on(entries, gap), change, lease)

    def held_changes(self) -> st.SearchStrategy[HeaderChange]:
        rests = [rest(self.instant(seconds)) for seconds in AGAIN]
        failed = replace(SETTLE, terminal=TerminalState.FAILED)
        return st.sampled_from([UNCHANGED, UNCHANGED, SETTLE, failed, *rests])

    def facts(self, data: st.DataObject) -> HeaderFacts:
        draw = data.draw
        return HeaderFacts(
            draw(st.sampled_from(VERSIONS)),
            pending=draw(st.integers(0, 3)),
            waits=draw(WAITS),
            parked=draw(st.booleans()),
            stopping=draw(st.booleans()),
            blobs=draw(st.booleans()),
            attempt_count=draw(st.integers(0, 1)),
        )

    # --- claims ------------------------------------------------------------------------------------------

    @property
    def everyone(self) -> ClaimFilter:
        """Whatever is of this example."""
        return ClaimFilter(tenants=frozenset(map(self.named, TENANTS)))

    def filter(self, data: st.DataObject) -> ClaimFilter:
        """What a claim leaves out of that."""
        tenants = [self.named(tenant) for tenant in TENANTS]
        caps: list[int | dict[str, int] | None] = [None, None, 1, 2, {tenants[0]: 1}, {tenants[0]: 2, "*": 1}]
        return ClaimFilter(
            tenants=data.draw(st.sampled_from([frozenset(tenants)] * 3 + [frozenset(tenants[1:])])),
            tenant_concurrency=data.draw(st.sampled_from(caps)),
            skip_versions=frozenset(data.draw(st.sampled_from([[], [], VERSIONS[:1], VERSIONS[1:]]))),
            exclude=frozenset(map(self.named, data.draw(st.sampled_from(["", "", "", *SLOTS, "ab"])))),
        )


def with_past(write: Admit, *, over: bool) -> Admit:
    """An admission whose second entry is of an Attempt elsewhere, which may have been the last."""
    first, second = write.entries
    second = replace(second, epoch=FAR_EPOCH, type="run_settled" if over else second.type)
    ended = {"terminal": TerminalState.ABORTED, "settled_at": START} if over else {}
    fields = write.header.model_dump() | {"epoch": FAR_EPOCH, "head": second.head, **ended}
    return Admit(RunHeader.model_validate(fields), (first, second))


def moved_on(entries: tuple[Entry, ...], gap: int) -> tuple[Entry, ...]:
    """The same entries, so many seqs further on."""
    return tuple(replace(entry, seq=entry.seq + gap) for entry in entries)
