"""Any sequence of calls: a store and the model of one answer alike, and hold the same."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from psych_runtime_core.errors import PsychError
from psych_runtime_core.ids import RunId, VersionHash, WorkerId
from psych_runtime_core.ports.store import (
    NOW,
    UNCHANGED,
    Admit,
    Append,
    Claim,
    HeaderChange,
    HeaderFacts,
    Lease,
    Write,
)
from psych_runtime_core.records import Head
from tests.stores.suite.base import ClosingStore, OpenStore, StoreBase
from tests.stores.suite.clock import ManualClock
from tests.stores.suite.model import Refusal, StoreModel
from tests.stores.suite.scenes import PROGRESS, SETTLE, WAKE, admission, batch, everything, rest, without

T = TypeVar("T")

RUN_IDS = [RunId(f"run_{name}") for name in "abcd"]
WORKERS = st.sampled_from([WorkerId(f"worker_{number}") for number in range(3)])
VERSIONS = [VersionHash("version_a"), VersionHash("version_b")]
ADMISSIONS = st.fixed_dictionaries(
    {
        "run_id": st.sampled_from(RUN_IDS),
        "tenant": st.sampled_from(["acme", "acme", "Acme", "globex"]),
        "priority": st.integers(-1, 1),
        "version_hash": st.sampled_from(VERSIONS),
        "request": st.sampled_from([b"\x01" * 32, b"\x01" * 32, b"\x02" * 32]),
        "pending": st.integers(0, 2),
    }
)
KEYS = st.sampled_from([None, "order", "Order"])
SECONDS = st.sampled_from([None, -5, 0, 5, 60])
LEASE_SECONDS = st.sampled_from([1, 30, 60])


class StoreMachine(RuleBasedStateMachine):
    """A subclass for one store sets `open_store`."""

    open_store: ClassVar[OpenStore]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.model = StoreModel(self.clock.now())
        self.store: ClosingStore = type(self).open_store(self.clock)
        self.leases: list[Lease] = []
        self.last: list[Write] = []
        self.written = 0
        self.runner.run(self.store.migrate())

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()

    # --- the rules ------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.000_001, 1, 29.999_999, 30, 3_600]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.model.now = self.clock.now()

    @rule(fields=ADMISSIONS, key=KEYS, seconds=SECONDS)
    def admits(self, fields: dict[str, Any], key: str | None, seconds: float | None) -> None:
        write = self.admission(fields, seconds, key)
        self.last = [write]
        self.agree(lambda: self.model.admit(write), self.store.admit(write.header, write.entries))

    @precondition(lambda self: self.model.runs)
    @rule(data=st.data())
    def appends(self, data: st.DataObject) -> None:
        self.commits([self.appending(data, data.draw(st.sampled_from([*self.model.runs])))])

    @precondition(lambda self: len(self.model.runs) > 1)
    @rule(data=st.data(), fields=st.none() | ADMISSIONS)
    def writes_to_many(self, data: st.DataObject, fields: dict[str, Any] | None) -> None:
        run_ids = data.draw(st.lists(st.sampled_from([*self.model.runs]), min_size=2, unique=True))
        writes: list[Write] = [self.appending(data, run_id) for run_id in run_ids]
        if fields and fields["run_id"] not in run_ids:
            writes.append(self.admission(fields, None))
        self.commits(writes)

    @precondition(lambda self: self.last)
    @rule()
    def repeats_the_last_commit(self) -> None:
        self.commits(self.last)

    @rule(
        worker_id=WORKERS,
        limit=st.integers(1, 4),
        seconds=LEASE_SECONDS,
        request_id=st.sampled_from([None, "first", "second"]),
        left_out=st.sets(st.sampled_from(RUN_IDS), max_size=2),
        skipped=st.sets(st.sampled_from(VERSIONS), max_size=1),
    )
    def claims(
        self, worker_id: WorkerId, limit: int, seconds: float, request_id: str | None, **out: set[str]
    ) -> None:
        held = self.model.held(worker_id, request_id) if request_id else {}
        ready = self.model.claimable(out["left_out"], out["skipped"])
        only = without(*out["skipped"], runs=out["left_out"])
        call = self.store.claim(
            worker_id, limit=limit, lease_seconds=seconds, only=only, request_id=request_id
        )
        claims = self.runner.run(call).claims
        if held:
            assert {claim.header.run_id: claim.reclaimed for claim in claims} == held
        else:
            self.check_turns([claim.header.run_id for claim in claims], limit, ready)
            for claim in claims:
                expired = self.model.claim(claim.header.run_id, worker_id, seconds, request_id)
                assert claim.reclaimed == expired
        self.check_claims(claims)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), seconds=LEASE_SECONDS)
    def renews(self, data: st.DataObject, seconds: float) -> None:
        leases = data.draw(st.lists(st.sampled_from(self.leases), min_size=1, max_size=3))
        expected = [self.model.renew(lease, seconds) for lease in leases]
        renewed = self.runner.run(self.store.renew(leases, lease_seconds=seconds))
        assert [(each.outcome, each.lease, each.head) for each in renewed] == expected

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), seconds=SECONDS)
    def releases(self, data: st.DataObject, seconds: float | None) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        after = data.draw(st.none() | self.heads(lease.run_id))
        ready_at = data.draw(st.sampled_from([NOW, self.instant(seconds)]))
        self.agree(
            lambda: self.model.release(lease, ready_at, after),
            self.store.release(lease, ready_at, after=after),
        )

    @invariant()
    def store_and_model_hold_the_same(self) -> None:
        held = self.runner.run(everything(self.store, *self.model.runs))
        assert held == [(self.model.header(run_id), tuple(log)) for run_id, log in self.model.logs.items()]

    # --- what the rules are made of -----------------------------------------------------------------------

    def commits(self, writes: list[Write]) -> None:
        self.last = writes
        self.agree(lambda: self.model.commit(writes), self.store.commit(writes))

    def agree(self, expected: Callable[[], T], call: Coroutine[Any, Any, T]) -> None:
        """The call answers what the model does, or raises what the model refuses it for."""
        try:
            wanted: T | str = expected()
        except Refusal as refusal:
            wanted = str(refusal)
        try:
            answer: T | str = self.runner.run(call)
        except (PsychError, ValueError) as error:
            answer = type(error).__name__
        assert answer == wanted

    def check_turns(self, taken: list[RunId], limit: int, ready: dict[str, list[str]]) -> None:
        """As many as there are, of as many tenants as there are, of each tenant the first."""
        assert len(taken) == min(limit, sum(map(len, ready.values())))
        firsts = {tenant: [run_id for run_id in taken if run_id in runs] for tenant, runs in ready.items()}
        assert sum(map(bool, firsts.values())) == min(limit, len(ready))
        for tenant, runs in firsts.items():
            assert runs == ready[tenant][: len(runs)]

    def check_claims(self, claims: tuple[Claim, ...]) -> None:
        for claim in claims:
            assert claim.header == self.model.header(claim.header.run_id)
            assert claim.lease == claim.header.lease
            self.leases.append(claim.lease)

    def admission(self, fields: dict[str, Any], seconds: float | None, key: str | None = None) -> Admit:
        instant = self.instant(seconds)
        return admission(**fields, bodies=[self.body()], ready_at=instant, idempotency_key=key)

    def appending(self, data: st.DataObject, run_id: str) -> Append:
        leases = [lease for lease in self.leases if lease.run_id == run_id]
        lease = data.draw(st.sampled_from([None, *leases[-2:]]))
        change = data.draw(self.held_changes() if lease else st.sampled_from([UNCHANGED, WAKE]))
        if data.draw(st.booleans()):
            change = replace(change, facts=self.facts(data))
        after = data.draw(self.heads(run_id))
        bodies = [self.body() for _ in range(data.draw(st.integers(1, 2)))]
        entries = batch(after, *bodies, epoch=lease.epoch if lease else 0, settles=bool(change.terminal))
        return Append(RunId(run_id), after, entries, change, lease)

    def held_changes(self) -> st.SearchStrategy[HeaderChange]:
        rests = [rest(self.instant(seconds)) for seconds in (None, -5, 5)]
        return st.sampled_from([UNCHANGED, PROGRESS, SETTLE, *rests])

    def facts(self, data: st.DataObject) -> HeaderFacts:
        version = data.draw(st.sampled_from(VERSIONS))
        return HeaderFacts(version, pending=data.draw(st.integers(0, 3)), parked=data.draw(st.booleans()))

    def heads(self, run_id: str) -> st.SearchStrategy[Head]:
        """Mostly where the log ends."""
        present = self.model.runs[run_id]["head"]
        earlier = [entry.head for entry in self.model.logs[run_id]]
        return st.sampled_from([present] * 8 + [Head(present.seq, b"\xff" * 32), *earlier[-2:]])

    def instant(self, seconds: float | None) -> datetime | None:
        return None if seconds is None else self.clock.now() + timedelta(seconds=seconds)

    def body(self) -> bytes:
        self.written += 1
        return b"%d" % self.written


class StoreSequences(StoreBase):
    """The machine, for one store."""

    def test_any_sequence_of_calls_does_what_the_model_does(self, open_store: OpenStore) -> None:
        run_state_machine_as_test(type("Machine", (StoreMachine,), {"open_store": staticmethod(open_store)}))
