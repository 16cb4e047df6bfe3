"""The ports of a Worker behind a gate, which is asked before and after each call."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from typing import TypeVar

from psych_runtime.store_proxy import StoreProxy
from psych_runtime.testing.model_proxy import ModelProxy
from psych_runtime.testing.watched_tools import ToolRun, WatchedRegistry
from psych_runtime.tools.ending import Raised, Returned
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.ids import RunId
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata, BlobStore
from psych_runtime_core.ports.model import ModelCallContext, ModelClient, ModelRequest, StreamEvent
from psych_runtime_core.ports.policy import Decision, Policy
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import Hint, Watch
from psych_runtime_core.ports.writes import Write
from psych_runtime_core.records import Head
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version

T = TypeVar("T")
Gate = Callable[[str], None]
"""Lets a call through, which it is told as `before commit` or `after commit`; or raises, or never returns."""


async def through(gate: Gate, name: str, call: Callable[[], Awaitable[T]]) -> T:
    """One call of a port, the gate asked on either side."""
    gate(f"before {name}")
    result = await call()
    gate(f"after {name}")
    return result


class GatedStore(StoreProxy):
    """Hints pass the gate too: they are `watch`. `on_head` is told the digest of each acknowledged head.

    The blobs beside its Runs are behind the same gate.
    """

    def __init__(self, store: Store, gate: Gate, on_head: Callable[[bytes], None]) -> None:
        super().__init__(store)
        self._gate, self._on_head = gate, on_head

    async def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        types = [entry.type for write in writes for entry in write.entries]
        name = f"commit of {', '.join(types)}"
        heads = await through(self._gate, name, lambda: self._store.commit(writes))
        for head in heads:
            self._on_head(head.digest)
        return heads

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        return await through(self._gate, name, call)

    @property
    def blobs(self) -> BlobStore | None:
        kept = super().blobs
        return None if kept is None else GatedBlobs(kept, self._gate)

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return self._gated(self._store.changes(run_ids, ready=ready))

    @asynccontextmanager
    async def _gated(self, opened: AbstractAsyncContextManager[Watch]) -> AsyncGenerator[Watch]:
        async with opened as watch:
            yield _GatedWatch(watch, self._gate)


class _GatedWatch:
    def __init__(self, watch: Watch, gate: Gate) -> None:
        self._gate = gate
        self.follow, self.unfollow, self.saw, self._wait = watch.follow, watch.unfollow, watch.saw, watch.wait

    async def wait(self, timeout_seconds: float) -> Hint:
        return await through(self._gate, "watch", lambda: self._wait(timeout_seconds))


class GatedBlobs:
    """What a Worker asks of blobs: `blob put` and `blob get`."""

    def __init__(self, blobs: BlobStore, gate: Gate) -> None:
        self._gate, self._put, self._get = gate, blobs.put, blobs.get
        self.open, self.head, self.list = blobs.open, blobs.head, blobs.list
        self.delete, self.delete_run = blobs.delete, blobs.delete_run

    async def put(
        self,
        key: BlobKey,
        content: bytes | AsyncIterable[bytes],
        *,
        content_type: str,
        metadata: Mapping[str, str] | None = None,
    ) -> BlobMetadata:
        stored = partial(self._put, key, content, content_type=content_type, metadata=metadata)
        return await through(self._gate, "blob put", stored)

    async def get(self, key: BlobKey, *, offset: int = 0, length: int | None = None) -> bytes:
        return await through(self._gate, "blob get", partial(self._get, key, offset=offset, length=length))


class GatedModel(ModelProxy):
    """A call is `model`: before its request, and after the last event of its answer."""

    def __init__(self, model: ModelClient, gate: Gate) -> None:
        super().__init__(model)
        self._gate = gate

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        self._gate("before model")
        async with aclosing(self._model.stream(request, context)) as events:
            async for event in events:
                yield event
        self._gate("after model")


class GatedPolicy:
    """Each question is `policy`."""

    def __init__(self, policy: Policy, gate: Gate) -> None:
        self._policy, self._gate = policy, gate

    async def allow_run(self, scope: Scope, version: Version) -> Decision:
        return await through(self._gate, "policy", lambda: self._policy.allow_run(scope, version))

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        return await through(self._gate, "policy", lambda: self._policy.allow_tool(scope, tool, arguments))

    async def permitted_tools(self, scope: Scope, source: str | None) -> Sequence[str] | None:
        return await through(self._gate, "policy", lambda: self._policy.permitted_tools(scope, source))


def gated_tools(registry: ToolRegistry, gate: Gate) -> ToolRegistry:
    """The tools of `registry`; a run of one is `tool <name>`."""
    return WatchedRegistry(registry, _ToolGate(gate))


class _ToolGate:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def began(self, run: ToolRun) -> None:
        self._gate(f"before tool {run.context.tool}")

    def ended(self, run: ToolRun, ending: Returned | Raised) -> None:
        del ending
        self._gate(f"after tool {run.context.tool}")
