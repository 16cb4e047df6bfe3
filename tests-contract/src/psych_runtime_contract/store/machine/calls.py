"""Any sequence of calls on Runs: a store and the model of one answer alike, and hold the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import cycle
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from psych_runtime_contract.store.machine.drawing import (
    ADMISSIONS,
    AGAIN,
    FALLS,
    LEASE_SECONDS,
    LEFT_OUT,
    PASSING,
    SECONDS,
    SLOTS,
    TENANTS,
    WORKERS,
    Drawing,
)
from psych_runtime_contract.store.model import Refusal
from psych_runtime_contract.store.model.claims import Asked
from psych_runtime_contract.store.scenes import PROGRESS, SETTLE, WAKE, rest
from psych_runtime_core.errors import PsychError
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.claims import Claim
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.writes import Admit, HeaderChange, Write
from psych_runtime_core.records import Head

T = TypeVar("T")


class CallsMachine(Drawing):
    """Admissions, commits, claims, renewals, releases, and reading."""

    def __init__(self) -> None:
        super().__init__()
        self.last: list[Write] = []
        self.asked: list[Asked] = []
        self.compared: dict[str, Head] = {}
        self.steps = 0

    # --- the rules ---------------------------------------------------------------------------------------

    @initialize(
        drawn=st.lists(ADMISSIONS, min_size=3, max_size=4),
        tenants=st.sampled_from([TENANTS[:1], TENANTS[:2], (*TENANTS[:2], TENANTS[0]), TENANTS]),
        limit=st.sampled_from([None, 1, 2, 2, 3]),
        leaves_out=LEFT_OUT,
        is_ahead=st.booleans(),
    )
    def begins(
        self,
        drawn: list[Mapping[str, Any]],
        tenants: Sequence[str],
        limit: int | None,
        leaves_out: Mapping[str, Any],
        is_ahead: bool,
    ) -> None:
        """Some Runs that are ready, of few tenants, and maybe a claim: what is between Runs needs them.

        The first tenant's may be ahead of all others by their priority.
        """
        for slot, tenant, fields in zip(SLOTS, cycle(tenants), drawn, strict=False):
            past = fields["past"] if slot == SLOTS[2] and not is_ahead else None
            priority = fields["priority"] + 3 * (is_ahead and tenant == tenants[0])
            self.admits({**fields, "slot": slot, "tenant": tenant, "past": past, "priority": priority}, 0)
        if limit is not None:
            only = replace(self.everyone, **leaves_out)
            self.claim(Asked(WorkerId(self.named(WORKERS[0])), limit, self.seconds(30), only, "first"))

    @precondition(lambda self: self.time.is_moved)
    @rule(seconds=PASSING)
    def time_passes(self, seconds: float) -> None:
        self.do(self.time.passes(seconds))
        self.model.now = self.time.now()

    # What a store has let go by a later clock does not come back: no key may have ended.
    @precondition(lambda self: self.time.may_fall_back and not self.dated_keys)
    @rule(seconds=FALLS)
    def the_clock_falls_back(self, seconds: float) -> None:
        self.time.falls_back(seconds)
        self.model.now = self.time.now()

    @precondition(lambda self: self.time.is_moved and self.held_leases)
    @rule()
    def a_lease_ends(self) -> None:
        self.do(self.time.reaches(min(lease.expires_at for lease in self.held_leases)))
        self.model.now = self.time.now()

    @precondition(lambda self: self.time.is_moved and self.dated_keys)
    @rule(data=st.data())
    def a_key_ends(self, data: st.DataObject) -> None:
        key = self.model.keys[data.draw(st.sampled_from(self.dated_keys))]
        if key.until is not None:
            self.do(self.time.reaches(key.until))
        self.model.now = self.time.now()

    @rule(fields=ADMISSIONS, seconds=SECONDS)
    def admits(self, fields: Mapping[str, Any], seconds: float | None) -> None:
        write = self.admission(fields, seconds)
        self.last = [write]
        self.agree(lambda: self.model.admit(write), self.store.admit(write.header, write.entries))

    @precondition(lambda self: self.model.keys and self.free_slots)
    @rule(data=st.data(), fields=ADMISSIONS)
    def asks_again(self, data: st.DataObject, fields: Mapping[str, Any]) -> None:
        self.ask_again(data, fields)

    def ask_again(self, data: st.DataObject, fields: Mapping[str, Any]) -> None:
        """By a key that was used, if there is one for a Run that is gone."""
        tenant, key = data.draw(st.sampled_from(self.dated_keys or [*self.model.keys]))
        slot = data.draw(st.sampled_from(self.free_slots))
        name = tenant.removeprefix(f"{self.space}.")
        self.admits({**fields, "slot": slot, "tenant": name, "key": key}, 0)

    @precondition(lambda self: self.model.runs)
    @rule(data=st.data())
    def appends(self, data: st.DataObject) -> None:
        self.commits([self.appending(data, data.draw(st.sampled_from([*self.model.runs])))])

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def goes_on(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases[-3:]))
        self.commits([self.appending(data, lease.run_id, lease)])

    @precondition(lambda self: self.model.runs)
    @rule(data=st.data())
    def wakes(self, data: st.DataObject) -> None:
        self.commits([self.plain(RunId(data.draw(st.sampled_from([*self.model.runs]))), WAKE)])

    @precondition(lambda self: self.held_leases)
    @rule(
        data=st.data(),
        change=st.sampled_from([SETTLE, SETTLE, PROGRESS]),
        name=st.sampled_from([None, None, None, *WORKERS]),
    )
    def goes_on_well(self, data: st.DataObject, change: HeaderChange, name: str | None) -> None:
        """If it is its holder who does, and none that writes its own name on the lease."""
        lease = data.draw(st.sampled_from(self.held_leases))
        if name is not None:
            lease = replace(lease, worker_id=WorkerId(self.named(name)))
        self.commits([self.plain(lease.run_id, change, lease)])

    @precondition(lambda self: self.held_leases)
    @rule(data=st.data(), how=st.sampled_from(["rests", "rests without entries", "releases"]))
    def a_holder_is_overtaken(self, data: st.DataObject, how: str) -> None:
        """It gives the Run back, and does not know of the wake that was written just before."""
        lease = data.draw(st.sampled_from(self.held_leases))
        late = self.plain(lease.run_id, rest(), lease)
        self.commits([self.plain(lease.run_id, WAKE)])
        if how == "releases":
            self.gives_back(lease, None, late.after)
        else:
            self.commits([late if how == "rests" else replace(late, entries=())])

    @precondition(lambda self: self.model.runs)
    @rule(data=st.data(), worker=st.sampled_from(WORKERS))
    def is_brought_to_its_end(self, data: st.DataObject, worker: str) -> None:
        """A Run is woken, claimed and settled, as far as nothing is in the way."""
        run_id = RunId(data.draw(st.sampled_from([*self.model.runs])))
        self.commits([self.plain(run_id, WAKE)])
        self.claim(Asked(WorkerId(self.named(worker)), 4, self.seconds(60), self.everyone, None))
        lease = self.model.runs[run_id]["lease"]
        if lease:
            self.commits([self.plain(run_id, SETTLE, lease)])

    @precondition(lambda self: len(self.model.runs) > 1)
    @rule(data=st.data(), fields=st.none() | ADMISSIONS, is_well=st.booleans())
    def writes_to_many(self, data: st.DataObject, fields: Mapping[str, Any] | None, is_well: bool) -> None:
        run_ids = data.draw(st.lists(st.sampled_from([*self.model.runs]), min_size=2, unique=True))
        writes: list[Write] = [
            self.plain(RunId(each), WAKE) if is_well else self.appending(data, each) for each in run_ids
        ]
        if fields and self.named(fields["slot"]) not in run_ids:
            writes.append(self.admission({**fields, "key": None}, None))
        self.commits(writes)

    @precondition(lambda self: self.last)
    @rule()
    def repeats_the_last_commit(self) -> None:
        self.commits([write for write in self.last if not _has_key(write)])
        self.last = []

    @rule(worker=st.sampled_from(WORKERS), limit=st.sampled_from([1, 2, 2, 3]), seconds=LEASE_SECONDS)
    def claims(self, worker: str, limit: int, seconds: float) -> None:
        self.claim(Asked(WorkerId(self.named(worker)), limit, self.seconds(seconds), self.everyone, None))

    @rule(
        worker=st.sampled_from(WORKERS[:2]),
        limit=st.integers(1, 4),
        seconds=LEASE_SECONDS,
        request_id=st.sampled_from([None, None, "first", "second"]),
        data=st.data(),
    )
    def claims_some(
        self, worker: str, limit: int, seconds: float, request_id: str | None, data: st.DataObject
    ) -> None:
        only = self.filter(data)
        self.claim(Asked(WorkerId(self.named(worker)), limit, self.seconds(seconds), only, request_id))

    @precondition(lambda self: self.asked)
    @rule(limit=st.integers(1, 4))
    def claims_once_more(self, limit: int) -> None:
        self.claim(replace(self.asked[-1], limit=limit))

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), seconds=LEASE_SECONDS)
    def renews(self, data: st.DataObject, seconds: float) -> None:
        leases = data.draw(st.lists(st.sampled_from(self.leases), min_size=1, max_size=3))
        lasts = self.seconds(seconds)
        expected = [self.model.renew(lease, lasts) for lease in leases]
        renewed = self.do(self.store.renew(leases, lease_seconds=lasts))
        for (outcome, lease, head), each in zip(expected, renewed, strict=True):
            assert (each.outcome, each.lease.epoch, each.head) == (outcome, lease.epoch, head)
            assert self.nearly(each.lease.expires_at, lease.expires_at)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), is_at_once=st.booleans(), seconds=st.sampled_from(AGAIN))
    def releases(self, data: st.DataObject, is_at_once: bool, seconds: float | None) -> None:
        lease = data.draw(st.sampled_from(self.leases[-4:]))
        after = data.draw(st.sampled_from([None, *self.heads(lease.run_id, right=3)]))
        self.gives_back(lease, NOW if is_at_once else self.instant(seconds), after)

    def gives_back(self, lease: Lease, ready_at: datetime | None, after: Head | None) -> None:
        self.agree(
            lambda: self.model.release(lease, ready_at, after),
            self.store.release(lease, ready_at, after=after),
        )

    @rule(slot=st.sampled_from(SLOTS), after=st.sampled_from([0, 1, 2, 2**32]), limit=st.integers(1, 3))
    def reads(self, slot: str, after: int, limit: int) -> None:
        run_id = self.named(slot)
        self.agree(lambda: self.model.read(run_id, after, limit), self.store.read(run_id, after, limit))

    @invariant()
    def store_and_model_hold_the_same(self) -> None:
        self.do(self.compare())
        self.steps += 1

    async def compare(self) -> None:
        """All headers, and the logs that grew; one that did not is looked at in its turn."""
        for number, (run_id, run) in enumerate(self.model.runs.items()):
            self.check_header(await self.store.get_run(RunId(run_id)))
            if self.compared.get(run_id) != run["head"] or self.steps % len(SLOTS) == number:
                log = await self.store.read(RunId(run_id))
                assert list(log) == self.model.logs[run_id], "a log holds what was written"
                self.compared[run_id] = run["head"]

    # --- what the rules are made of ----------------------------------------------------------------------

    def commits(self, writes: list[Write]) -> None:
        self.last = writes
        if writes:
            self.agree(lambda: self.model.commit(writes), self.store.commit(writes))

    def agree(self, expected: Callable[[], T], call: Coroutine[Any, Any, T]) -> None:
        """The call answers what the model does, or raises what the model refuses it for; watchers hear."""
        self.model.now = self.time.now()
        before = {run_id: (run["head"], run["lease"]) for run_id, run in self.model.runs.items()}
        was_ready = self.model.ready()
        try:
            wanted: T | str = expected()
        except Refusal as refusal:
            wanted = str(refusal)
        runs = self.model.runs
        changed = {run_id for run_id in runs if before.get(run_id, (None,))[0] != runs[run_id]["head"]}
        ended = {run_id for run_id, (_, lease) in before.items() if lease and not runs[run_id]["lease"]}
        ready = bool(self.model.ready() - was_ready or any(map(self.has_ready, ended)))
        assert self.do(self.answer(call, changed, ready)) == wanted

    def has_ready(self, run_id: str) -> bool:
        """Whether the tenant of a Run has work that may be claimed."""
        tenant = self.model.runs[run_id]["scope"].tenant
        return any(self.model.runs[each]["scope"].tenant == tenant for each in self.model.ready())

    async def answer(self, call: Coroutine[Any, Any, T], changed: set[str], ready: bool) -> T | str:
        """The answer, or the name of the error. A watch hears of what the call changes."""
        async with self.store.changes([*map(self.named, SLOTS)], ready=True) as watch:
            try:
                answer: T | str = await call
            except (PsychError, ValueError) as error:
                answer = type(error).__name__
            while self.judged.hints and (changed or ready):
                hint = await self.time.passes_until(lambda: watch.wait(60))
                assert hint, f"nobody heard of {changed or 'ready work'}"
                changed, ready = changed - hint.runs, ready and not hint.ready
        self.model.now = self.time.now()
        return answer

    def claim(self, asked: Asked) -> None:
        self.asked += [asked] if asked.request_id else []
        self.model.now = self.time.now()
        claims = self.do(
            self.store.claim(
                asked.worker_id,
                limit=asked.limit,
                lease_seconds=asked.seconds,
                only=asked.only,
                request_id=asked.request_id,
            )
        )
        reclaimed = {claim.header.run_id: claim.reclaimed for claim in claims.claims}
        held = self.model.held(asked)
        if held:
            assert reclaimed == held, "asking again gives what is held, and no more"
            assert not claims.more, "more: asking again leaves nothing for whoever asks"
        else:
            assert claims.more == self.model.leaves_more(asked, [*reclaimed]), "more: a cap left work"
            self.model.check_claimed(asked, [*reclaimed])
            assert reclaimed == {run_id: self.model.claim(asked, run_id) for run_id in reclaimed}
        self.check_claims(claims.claims)

    def check_claims(self, claims: tuple[Claim, ...]) -> None:
        for claim in claims:
            self.check_header(claim.header)
            assert claim.lease == claim.header.lease
            self.leases.append(claim.lease)

    def check_header(self, header: RunHeader) -> None:
        """It is the model's; where time cannot be moved, the model takes its instants over."""
        run = self.model.runs[header.run_id]
        lease: Lease | None = run["lease"]
        if self.nearly(header.ready_at, run["ready_at"]):
            run["ready_at"] = header.ready_at
        if header.lease and lease and self.nearly(header.lease.expires_at, lease.expires_at):
            run["lease"] = Lease(lease.run_id, lease.worker_id, lease.epoch, header.lease.expires_at)
        assert header == self.model.header(header.run_id), "a header is what the rules make of it"


def _has_key(write: Write) -> bool:
    return isinstance(write, Admit) and write.header.idempotency_key is not None
