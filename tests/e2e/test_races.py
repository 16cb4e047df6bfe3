"""Moments at which two things happen at once, each brought about on purpose."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

import pytest

from psych_runtime import (
    AllowAll,
    Decision,
    Head,
    InMemoryStore,
    RunId,
    Scope,
    Store,
    StoreUnavailable,
    approve,
    interrupt,
    send,
    status,
)
from psych_runtime.testing import EffectLedger, FakeModel, StoreProxy, VirtualClock
from psych_runtime_core.ids import WorkerId
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.claims import ANY_RUN, ClaimFilter, Claims
from psych_runtime_core.ports.writes import Append, Write
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.spec.policies import SuspensionPolicy
from tests.e2e.stage import SlowStore, agent, at_work, begun, ended, in_virtual_time, registered, results


class AtCommit(StoreProxy, ABC):
    """Does something once, around the first commit of a Worker that holds a record of this type."""

    def __init__(self, store: Store, kind: str) -> None:
        super().__init__(store)
        self.inner, self.happened = store, False
        self._kind = kind

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        (write,) = writes
        types = [entry.type for entry in write.entries]
        if isinstance(write, Append) and write.lease and self._kind in types and not self.happened:
            self.happened = True
            return await self.around(write)
        return await super().commit(writes)

    @abstractmethod
    async def around(self, write: Append) -> tuple[Head, ...]:
        """The commit, and what comes with it."""


class LandsUnheard(AtCommit):
    """The commit lands and its answer is lost; before it is repeated somebody else has written."""

    def __init__(self, store: Store, kind: str, act: str) -> None:
        super().__init__(store, kind)
        self._act = act

    async def around(self, write: Append) -> tuple[Head, ...]:
        await self.inner.commit([write])
        if self._act == "interrupt":
            await interrupt(self.inner, write.run_id)
        else:
            await send(self.inner, write.run_id, message="By the way.")
        raise StoreUnavailable("commit", "the answer was lost", "unknown")


async def act(name: str) -> str:
    """Do something that may be done once."""
    await asyncio.sleep(1)
    return name


def acting() -> FakeModel:
    return FakeModel().turn(tool_calls=[("act", {"name": "it"})]).turn("Done.").repeat()


@in_virtual_time
@pytest.mark.parametrize("act_of_others", ["interrupt", "send"])
@pytest.mark.parametrize("kind", ["model_call_started", "tool_call_started", "tool_call_finished"])
async def test_a_commit_whose_answer_is_lost_stands_whoever_wrote_behind_it(
    kind: str, act_of_others: str
) -> None:
    store, ledger = InMemoryStore(clock=VirtualClock()), EffectLedger()
    between = LandsUnheard(store, kind, act_of_others)
    registry = ledger.wrap(registered(act, interruptible=False))
    async with at_work(between, acting(), registry):
        run_id = await begun(store, agent("act"))
        state = await ended(store, run_id, ledger)
        assert store.clock.monotonic() < 20
    assert between.happened
    assert state.terminal_state == ("aborted" if act_of_others == "interrupt" else "completed")
    assert len(ledger.invocations) == (
        0 if (kind, act_of_others) == ("model_call_started", "interrupt") else 1
    )
    assert {end.outcome for end in await results(store, run_id)} <= {ToolOutcome.OK}


class SettlesSlowly(AtCommit):
    """Takes a while over the end of the Run."""

    async def around(self, write: Append) -> tuple[Head, ...]:
        await self.clock.sleep(5)
        return await self.inner.commit([write])


@in_virtual_time
async def test_a_model_may_fail_while_its_run_settles() -> None:
    store = SettlesSlowly(InMemoryStore(clock=VirtualClock()), "run_settled")

    async def breaks(request: object, context: object) -> str:
        await asyncio.sleep(3)
        raise ConnectionError("gone")

    async with at_work(store, FakeModel().turn(breaks).repeat()):
        run_id = await begun(store, agent())
        await asyncio.sleep(1)
        await interrupt(store, run_id)
        state = await ended(store, run_id)
    assert store.happened
    assert state.terminal_state == "aborted"


class AnswersFirst(AtCommit):
    """Has a person answer right before a Worker records that nobody did."""

    wait_id = ""

    async def around(self, write: Append) -> tuple[Head, ...]:
        await self.answer(write.run_id)
        return await self.inner.commit([write])

    async def answer(self, run_id: RunId) -> None:
        await approve(_Earlier(self.inner), run_id, self.wait_id)


class _Earlier(StoreProxy):
    """The store, as a person sees it whose clock is behind."""

    @property
    def clock(self) -> VirtualClock:
        return VirtualClock(self._store.clock.now().replace(year=2020))


@in_virtual_time
async def test_what_runs_is_not_cut_for_an_expiry_that_an_answer_overtakes() -> None:
    store, ledger = AnswersFirst(InMemoryStore(clock=VirtualClock()), "resumed"), EffectLedger()
    registry = registered(act, annotations="destructive")

    @registry.register
    async def work(seconds: float) -> str:
        """Work for a while."""
        await asyncio.sleep(seconds)
        return "worked"

    model = FakeModel().turn(tool_calls=[("act", {"name": "it"}), ("work", {"seconds": 100})]).turn("Done.")
    spec = agent("act", "work", suspension=SuspensionPolicy(approval_expires_seconds=60))
    async with at_work(store, model, ledger.wrap(registry)):
        run_id = await begun(store, spec)
        await asyncio.sleep(1)
        store.wait_id = (await waits(store, run_id))[0]
        state = await ended(store, run_id, ledger)
    assert store.happened
    assert state.terminal_state == "completed"
    assert [end.result for end in await results(store, run_id)] == ["it", "worked"]


async def waits(store: Store, run_id: RunId) -> list[str]:
    return [wait.wait_id for wait in (await status(store, run_id)).pending_approvals]


class LosesTheClaim(StoreProxy):
    """Gives a Run to its Worker and loses the answer, while the Worker is told to drain."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.lost = asyncio.Event()
        self._lost_one = False

    async def claim(
        self,
        worker_id: WorkerId,
        *,
        limit: int = 1,
        lease_seconds: float = 30.0,
        only: ClaimFilter = ANY_RUN,
        request_id: str | None = None,
    ) -> Claims:
        claims = await super().claim(
            worker_id, limit=limit, lease_seconds=lease_seconds, only=only, request_id=request_id
        )
        if claims.claims and not self._lost_one:
            self._lost_one = True
            self.lost.set()
            await asyncio.sleep(0)
            raise StoreUnavailable("claim", "the answer was lost", "unknown")
        return claims


@in_virtual_time
@pytest.mark.parametrize("order", ["drain", "stop"])
async def test_a_claim_that_is_lost_while_its_worker_ends_is_given_back(order: str) -> None:
    memory = InMemoryStore(clock=VirtualClock())
    store, model = LosesTheClaim(memory), FakeModel().turn("Done.")
    async with at_work(store, model) as worker:
        run_id = await begun(memory, agent())
        await store.lost.wait()
        if order == "stop":
            worker.stop()
        await worker.drain()
    header = await memory.get_run(run_id)
    assert (header.lease, header.terminal) == (None, None)
    async with at_work(memory, model):
        await ended(memory, run_id)
        assert memory.clock.monotonic() < 5
    assert (await memory.get_run(run_id)).crashes == 0


class Hesitant(AllowAll):
    """Takes a second over each call."""

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        await asyncio.sleep(1)
        return Decision.allow()


@in_virtual_time
@pytest.mark.parametrize("hops", range(24))
async def test_a_tool_may_end_at_any_moment_while_another_call_begins(hops: int) -> None:
    store, ledger, go = InMemoryStore(clock=VirtualClock()), EffectLedger(), asyncio.Event()
    registry = registered(act, annotations="destructive")

    @registry.register
    async def work(seconds: float) -> str:
        """Work until it is told, and a little longer."""
        await go.wait()
        for _ in range(hops):
            await asyncio.sleep(0)
        return "worked"

    model = FakeModel().turn(tool_calls=[("act", {"name": "it"}), ("work", {"seconds": 1})]).turn("Done.")
    async with at_work(store, model, ledger.wrap(registry), runtime={"policy": Hesitant()}):
        run_id = await begun(store, agent("act", "work"))
        await asyncio.sleep(5)
        await approve(store, run_id)
        go.set()
        state = await ended(store, run_id, ledger)
    assert state.terminal_state == "completed"
    assert len(ledger.invocations) == 2


@in_virtual_time
@pytest.mark.parametrize("ends_after", [0.1, 0.4, 0.6, 0.9, 1.4, 1.9, 2.4])
async def test_a_tool_may_end_while_its_worker_waits_for_the_store(ends_after: float) -> None:
    memory, ledger = InMemoryStore(clock=VirtualClock()), EffectLedger()
    store = SlowStore(memory, lambda: 0.5)
    go = asyncio.Event()

    async def work(seconds: float) -> str:
        """Work until it is told, and a little longer."""
        await go.wait()
        await asyncio.sleep(seconds)
        return "worked"

    asked = [("work", {"seconds": ends_after}), ("work", {"seconds": ends_after + 0.3})]
    async with at_work(
        store, FakeModel().turn(tool_calls=asked).turn("Done."), ledger.wrap(registered(work))
    ):
        run_id = await begun(memory, agent("work"))
        await asyncio.sleep(20)
        await send(memory, run_id, message="By the way.")
        go.set()
        state = await ended(memory, run_id, ledger)
    assert state.terminal_state == "completed"
    assert len(ledger.invocations) == 2
