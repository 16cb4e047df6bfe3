"""The small ports of a store, for what is one tenant's alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.kv import KeyValue, KvItem, KvKey
from psych_runtime_core.ports.live import LiveChannel, LiveChunk
from psych_runtime_core.ports.queries import Page
from psych_runtime_core.ports.watch import Hint, Watch

Allow = Callable[[RunId], Awaitable[None]]
"""Raises `AccessDenied` for another tenant's Run."""


class ScopedWatch:
    """A `Watch` on Runs of one tenant. What it was told to follow is judged before it says anything."""

    def __init__(self, watch: Watch, allow: Allow) -> None:
        self._watch, self._allow = watch, allow
        self._unjudged: set[RunId] = set()

    def follow(self, *run_ids: RunId) -> None:
        # Followed at once: what changes before the judgement would be missed.
        self._unjudged.update(run_ids)
        self._watch.follow(*run_ids)

    def unfollow(self, *run_ids: RunId) -> None:
        self._unjudged.difference_update(run_ids)
        self._watch.unfollow(*run_ids)

    def saw(self, run_id: RunId, seq: int) -> None:
        self._watch.saw(run_id, seq)

    async def wait(self, timeout_seconds: float) -> Hint:
        for run_id in tuple(self._unjudged):
            await self._allow(run_id)
            self._unjudged.discard(run_id)
        return await self._watch.wait(timeout_seconds)


class ScopedLive:
    """A `LiveChannel` for the Runs of one tenant."""

    def __init__(self, live: LiveChannel, allow: Allow) -> None:
        self._live, self._allow = live, allow

    async def publish(self, chunks: Sequence[LiveChunk]) -> None:
        for run_id in {chunk.run_id for chunk in chunks}:
            await self._allow(run_id)
        await self._live.publish(chunks)

    @asynccontextmanager
    async def follow(self, run_id: RunId) -> AsyncGenerator[AsyncIterator[LiveChunk]]:
        await self._allow(run_id)
        async with self._live.follow(run_id) as chunks:
            yield chunks

    async def clear(self, run_id: RunId, call_seq: int | None = None) -> None:
        await self._allow(run_id)
        await self._live.clear(run_id, call_seq)


class ScopedKeyValue:
    """A `KeyValue` for the values of one tenant."""

    def __init__(self, values: KeyValue, tenant: str) -> None:
        self._values, self._tenant = values, tenant

    async def get(self, key: KvKey) -> KvItem | None:
        self._refuse_another(key.tenant)
        return await self._values.get(key)

    async def put(
        self, key: KvKey, value: bytes, *, expect: int | None = None, ttl_seconds: float | None = None
    ) -> KvItem | None:
        self._refuse_another(key.tenant)
        return await self._values.put(key, value, expect=expect, ttl_seconds=ttl_seconds)

    async def delete(self, key: KvKey, *, expect: int | None = None) -> bool:
        self._refuse_another(key.tenant)
        return await self._values.delete(key, expect=expect)

    async def list(
        self, tenant: str, space: str, *, prefix: str = "", cursor: str | None = None, limit: int = 100
    ) -> Page[KvItem]:
        self._refuse_another(tenant)
        return await self._values.list(tenant, space, prefix=prefix, cursor=cursor, limit=limit)

    async def clear(self, tenant: str, space: str, *, prefix: str = "") -> int:
        self._refuse_another(tenant)
        return await self._values.clear(tenant, space, prefix=prefix)

    def _refuse_another(self, tenant: str) -> None:
        if tenant != self._tenant:
            raise AccessDenied("these values", f"they are none of tenant {self._tenant}")
