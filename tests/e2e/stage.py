"""How the end-to-end tests drive Runs and look at them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from psych_runtime import (
    AgentSpec,
    Head,
    Limits,
    ModelRef,
    Record,
    RunId,
    RunStateView,
    Runtime,
    Scope,
    Store,
    StoreUnavailable,
    ToolRegistry,
    Worker,
    dispatch,
    records,
    stream,
)
from psych_runtime.testing import EffectLedger, StoreProxy, audit, run_virtual
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.ports.writes import Append, Write
from psych_runtime_core.records import Entry
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.state.fold import apply, empty

ACME = Scope(tenant="acme")
# Far more than anything here takes, and less than a test may.
PATIENCE_SECONDS = 30.0
P = ParamSpec("P")
T = TypeVar("T")


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """The test, run on a loop whose time jumps."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_virtual(lambda: test(*args, **kwargs))

    return run


def agent(*tools: str, limits: Limits | None = None, **fields: Any) -> AgentSpec:
    """An agent that may call these tools."""
    return AgentSpec(
        name="clerk",
        instructions="Serve the customer.",
        model=ModelRef(model="fake-1"),
        tools=tuple(CodeTool(name=name) for name in tools),
        limits=limits or Limits(),
        **fields,
    )


def registered(*tools: Callable[..., object], **flags: Any) -> ToolRegistry:
    """A registry of these functions, all with the same flags."""
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool, **flags)
    return registry


@asynccontextmanager
async def at_work(
    store: Store,
    model: ModelClient,
    registry: ToolRegistry | None = None,
    *,
    runtime: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncGenerator[Worker]:
    """A Worker that runs until the block is left; `options` are its own, `runtime` those of its Runtime."""
    ports = Runtime(store=store, model=model, registry=registry or ToolRegistry(), **(runtime or {}))
    worker = Worker(ports, **options)
    running = asyncio.create_task(worker.run())
    await asyncio.sleep(0)
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def begun(store: Store, spec: AgentSpec, message: str = "Hello.", **options: Any) -> RunId:
    """A Run that waits for a Worker."""
    return (await dispatch(store, spec, ACME, input=message, **options)).run_id


async def seen(store: Store, run_id: RunId, when: Callable[[RunStateView], bool]) -> RunStateView:
    """The state as soon as `when` holds of it."""
    async with asyncio.timeout(PATIENCE_SECONDS if store.clock.monotonic() > 1e4 else None):
        state = empty(run_id)
        async for record in stream(store, run_id):
            apply(state, record)
            if when(state):
                return state
    raise AssertionError(f"{run_id} has settled, and that never held")


async def ended(store: Store, run_id: RunId, ledger: EffectLedger | None = None) -> RunStateView:
    """The state after its end, once an audit found nothing wrong with the log."""
    state = await seen(store, run_id, lambda state: state.settled is not None)
    await audited(store, run_id, ledger)
    return state


async def until(holds: Callable[[], bool], seconds: float = 0.05) -> None:
    """Look every few moments until it holds."""
    while not holds():  # noqa: ASYNC110 - what it looks at tells nobody
        await asyncio.sleep(seconds)


async def audited(store: Store, run_id: RunId, ledger: EffectLedger | None = None) -> None:
    """Nothing is wrong with the log as it stands."""
    header = await store.get_run(run_id)
    spec = (await store.get_version(header.version_hash)).spec
    effects = ledger.invocations if ledger else ()
    found = audit(await entries(store, run_id), effects=effects, header=header, spec=spec)
    assert not found, "\n".join(map(str, found))


async def entries(store: Store, run_id: RunId) -> list[Entry]:
    """The whole log as it is stored."""
    found: list[Entry] = []
    while page := await store.read(run_id, len(found)):
        found += page
    return found


async def types(store: Store, run_id: RunId) -> list[str]:
    """The types of all records."""
    return [entry.type for entry in await entries(store, run_id)]


async def results(store: Store, run_id: RunId) -> list[ToolCallFinished]:
    """How the calls ended, in the order in which they did."""
    return only(ToolCallFinished, await records(store, run_id))


async def starts(store: Store, run_id: RunId) -> Counter[ToolCallId]:
    """How often each call began."""
    return Counter(record.call_id for record in only(ToolCallStarted, await records(store, run_id)))


R = TypeVar("R", bound=Record)


def only(kind: type[R], of: Iterable[Record]) -> list[R]:
    """The records of one type."""
    return [record for record in of if isinstance(record, kind)]


class CountingStore(StoreProxy):
    """Counts the calls of each method."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.calls: Counter[str] = Counter()

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        self.calls[name] += 1
        return await call()


class SlowStore(StoreProxy):
    """Takes `seconds()` of its clock before and after each call."""

    def __init__(self, store: Store, seconds: Callable[[], float]) -> None:
        super().__init__(store)
        self._seconds = seconds

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        await self.clock.sleep(self._seconds())
        result = await call()
        await self.clock.sleep(self._seconds())
        return result


class LossyStore(StoreProxy):
    """Loses answers to what a Worker writes and claims: of what took effect, or of what did not."""

    def __init__(self, store: Store, lost: Callable[[], bool], *, landed: Callable[[], bool]) -> None:
        super().__init__(store)
        self._lost, self._landed = lost, landed
        self.losses = 0

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        if all(isinstance(write, Append) and write.lease for write in writes):
            return await super().commit(writes)
        return await self._store.commit(writes)

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        if name not in {"claim", "commit", "renew", "release"} or not self._lost():
            return await call()
        self.losses += 1
        landed = self._landed()
        if landed:
            await call()
        raise StoreUnavailable(name, "the answer was lost", "unknown" if landed else "none")
