"""A store, a Runtime and a running Worker in one line: for scripts, tests and notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

import anyio

from psych_runtime.api.access import header_of, scope_of
from psych_runtime.api.arguments import Spoken, identifier, of_kind, seconds
from psych_runtime.api.dispatch import Dispatched, dispatch
from psych_runtime.api.publish import publish
from psych_runtime.api.views import answer
from psych_runtime.attempt.first import first_of
from psych_runtime.runtime import Runtime
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.worker.slots import Awaited, current_slots
from psych_runtime.worker.worker import Worker
from psych_runtime_core.clock import Clock
from psych_runtime_core.ids import RunId, VersionHash
from psych_runtime_core.messages import Part
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.ports.policy import Policy
from psych_runtime_core.ports.prices import CostPolicy, PriceResolver
from psych_runtime_core.ports.secrets import SecretResolver
from psych_runtime_core.ports.store import Store
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.document import Spec
from psych_runtime_core.version import Version, compute_hash
from psych_runtime_core.views.answer import AnswerView
from psych_runtime_memory import InMemoryStore

if TYPE_CHECKING:
    from psych_runtime.egress.transport import HttpTransport

# How long a session that is left lets its Runs finish what is in flight.
DRAIN_SECONDS = 5.0


class DispatchOptions(TypedDict, total=False):
    """What `Session.start` and `ask` hand on to `dispatch`."""

    input: Spoken | None
    idempotency_key: str | None
    deadline_seconds: float | None
    delay_seconds: float | None
    priority: int


class RuntimeOptions(TypedDict, total=False):
    """What `session` hands on to `Runtime`, whose defaults hold."""

    policy: Policy
    approval_selectors: Sequence[str]
    secrets: SecretResolver | None
    prices: PriceResolver | None
    cost_policy: CostPolicy
    blobs: BlobStore | None
    transport: HttpTransport | None
    clock: Clock | None
    tool_threads: int
    blob_offload_bytes: int


@asynccontextmanager
async def session(  # noqa: PLR0913 - what a session is made of, by name
    model: ModelClient,
    *,
    store: Store | None = None,
    tools: Sequence[Callable[..., object]] = (),
    registry: ToolRegistry | None = None,
    tenant: str = "local",
    principal: str | None = None,
    concurrency: int = 4,
    **ports: Unpack[RuntimeOptions],
) -> AsyncGenerator[Session]:
    """Ports and a Worker that runs until the block is left.

    `tenant` and `principal` are whose the session's own Runs are. The Worker serves every tenant of
    `store`; `Worker(runtime, tenants=…)` serves some alone.

    `store` is an `InMemoryStore` unless given. `tools` are plain functions, registered without flags on top
    of `registry`, which holds those that were registered before, with flags: see `ToolRegistry.register`.
    The other keywords are those of `Runtime`. Leaving drains for at most 5 seconds, then stops; Runs that
    are not done stay in the store, for the next Worker.
    """
    runtime = Runtime(
        store=InMemoryStore(clock=ports.get("clock")) if store is None else store,
        model=model,
        registry=_registry(registry, tools),
        **ports,
    )
    worker = Worker(runtime, concurrency=concurrency)
    # A task group would wrap what the body raises.
    running = asyncio.create_task(worker.run())
    try:
        # A Worker can be drained once it has begun to run.
        await asyncio.sleep(0)
        yield Session(runtime, worker, Scope(tenant=tenant, principal=principal), running)
    finally:
        with anyio.CancelScope(shield=True):
            await worker.drain(DRAIN_SECONDS)
            await asyncio.wait([running])
            await runtime.aclose()
        # What the body raises comes out as it is, and nobody asks for this one then.
        if not running.cancelled():
            running.exception()
    running.result()


def _with_input(message: str | Sequence[Part] | None, options: DispatchOptions) -> DispatchOptions:
    """`options` with the message as their input. No provider answers a conversation without a word."""
    if message is None:
        if options.get("input") is None:
            raise ValueError("the Run is asked nothing; give a message, or input={…}")
        return options
    if "input" in options:
        raise TypeError("give message or input, not both: a message is the input")
    if isinstance(message, str) and not message.strip():
        raise ValueError("the message is blank; give one that says something")
    return {**options, "input": message}


def _registry(given: ToolRegistry | None, tools: Sequence[Callable[..., object]]) -> ToolRegistry:
    """`given` itself; with tools a layer on top of it, so that it stays as it is."""
    if callable(tools):
        raise TypeError("tools is a sequence of functions; write tools=[…]")
    if given is not None and not tools:
        return given
    registry = ToolRegistry() if given is None else given.layered()
    for tool in tools:
        registry.register(tool)
    return registry


class Session:
    """One tenant's way to publish, start and ask. `scope` holds for every call that names no other."""

    def __init__(self, runtime: Runtime, worker: Worker, scope: Scope, running: asyncio.Task[None]) -> None:
        self.store, self.registry = runtime.store, runtime.registry
        self.runtime, self.worker, self.scope = runtime, worker, scope
        self._running = running
        self._versions: dict[VersionHash, Version] = {}

    async def publish(self, spec: Spec) -> Version:
        """The Version of `spec`, validated against what this process can serve.

        Raises `SpecValidationError` with every issue.
        """
        known = self._versions.get(compute_hash(of_kind("spec", spec, AgentSpec)))
        if known is not None:
            return known
        version = await publish(self.store, spec, context=self.runtime.validation_context())
        return self._versions.setdefault(version.hash, version)

    async def start(
        self,
        what: Spec | Version | str,
        message: str | Sequence[Part] | None = None,
        *,
        scope: Scope | None = None,
        **options: Unpack[DispatchOptions],
    ) -> Dispatched:
        """Begin a Run of a Spec, a Version or a hash; `message`, a text or parts, is its input.

        Raises as `dispatch` does, and `ValueError` where nothing is said.
        """
        options = _with_input(message, options)
        self._check_driven()
        version = await self.publish(what) if isinstance(what, AgentSpec) else what
        return await dispatch(self.store, version, scope or self.scope, **options)

    async def ask(
        self,
        what: Spec | Version | str,
        message: str | Sequence[Part] | None = None,
        *,
        timeout: float = 120.0,
        scope: Scope | None = None,
        **options: Unpack[DispatchOptions],
    ) -> AnswerView:
        """`start` a Run and `wait` for it.

        Inside a tool it raises `NoFreeSlot`, before it dispatches, when the Worker has no slot left.
        """
        seconds("timeout", timeout)
        with self._slot_for(None) as awaited:
            dispatched = await self.start(what, message, scope=scope, **options)
            awaited.run_id = dispatched.run_id
            return await self._ended(dispatched.run_id, timeout, scope or self.scope)

    async def wait(
        self, run_id: RunId | str, *, timeout: float = 120.0, scope: Scope | None = None
    ) -> AnswerView:
        """The answer of a Run, once it has settled.

        A Run that failed, or is not done within `timeout` seconds, comes back with `finished=False`; it is
        not cancelled. Inside a tool it raises `NoFreeSlot` when the Worker has no slot left for the Run. What
        ended the session's Worker is raised here: nobody else may be there to drive the Run.
        """
        run, held = RunId(identifier("run_id", run_id)), scope or self.scope
        seconds("timeout", timeout)
        header = await header_of(self.store, run, scope_of(self.store, held))
        if header.terminal is not None:
            return await answer(self.store, run, scope=held)
        with self._slot_for(run):
            return await self._ended(run, timeout, held)

    def _slot_for(self, run_id: RunId | None) -> AbstractContextManager[Awaited]:
        """A slot kept for the Run, where this code runs in a slot of the session's own Worker."""
        slots = self.worker.slots
        return slots.awaiting(run_id) if current_slots.get() is slots else nullcontext(Awaited(run_id))

    async def _ended(self, run_id: RunId, timeout: float, scope: Scope) -> AnswerView:
        clock = self.store.clock
        end = clock.monotonic() + timeout
        async with self.store.changes([run_id]) as watch:
            while (await header_of(self.store, run_id, scope)).terminal is None:
                self._check_driven()
                left = end - clock.monotonic()
                if left <= 0:
                    break
                await first_of(partial(watch.wait, left), partial(asyncio.wait, [self._running]))
        return await answer(self.store, run_id, scope=scope)

    def _check_driven(self) -> None:
        """Raise what ended the session's Worker, or `RuntimeError` once the session was left."""
        if self._running.done():
            self._running.result()
            raise RuntimeError("the session was left, or its Worker stopped: nobody drives its Runs")
