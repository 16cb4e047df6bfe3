"""Connections that wait to be used again, kept apart by event loop, tenant, purpose and credential."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

import anyio
import httpcore2
from anyio.lowlevel import RunVar

from psych_runtime_core.ports.egress import EgressPurpose

logger = logging.getLogger("psych_runtime.egress")

IDLE_SECONDS = 300.0

Identity: TypeAlias = "tuple[str | None, str | None]"
"""Of a principal and of the credential in use; never the secret."""


@dataclass(frozen=True, slots=True)
class PoolKey:
    """Whose connections these are. Without a credential the principals of a tenant share them."""

    tenant: str
    purpose: EgressPurpose
    configured: bool
    secure: bool = False
    identity: Identity | None = None
    proxy_identity: str | None = None


class SharedPool:
    """A pool, and how many hops use it or wait to: each from before it is sent until its reply is left.

    Hops have their turns in the order they asked for them; whose turn it is has a connection.
    """

    def __init__(self, key: PoolKey, pool: httpcore2.AsyncConnectionPool, connections: int) -> None:
        self.key, self.pool, self.connections = key, pool, connections
        self.turns = anyio.CapacityLimiter(connections)
        self.users = 0
        self.used_at = anyio.current_time()


# Held by the loop, so that it goes with the loop; weakly by whose pools they are, so that it goes with them.
_of_this_loop: RunVar[WeakKeyDictionary[Pools, OrderedDict[PoolKey, SharedPool]]] = RunVar(
    "psych_egress_pools"
)


class Pools:
    """At most `limit` pools per event loop: the least recently used one goes, and any idle for 300 s.

    A pool in use is never closed, so more than `limit` may be in use at once. Of each at most `connections`
    are in use.
    """

    def __init__(self, limit: int, connections: int) -> None:
        if connections < 1:
            raise ValueError("connections is below 1: a request needs one")
        self._limit, self._connections = limit, connections
        self._told = False

    async def take(self, key: PoolKey, make: Callable[[], httpcore2.AsyncConnectionPool]) -> SharedPool:
        """The pool for `key`, made if need be; give it back with `give_back`."""
        pools = self._pools()
        if key in pools:
            pools.move_to_end(key)
        await self._close(self._overdue(pools, to_come=key not in pools))
        shared = pools.get(key)
        if shared is None:
            shared = pools[key] = SharedPool(key, make(), self._connections)
        shared.users += 1
        return shared

    async def give_back(self, shared: SharedPool, *, retire: bool = False) -> None:
        """The use of a pool is over. `retire`: it is not to be used again."""
        pools = self._pools()
        shared.users -= 1
        shared.used_at = anyio.current_time()
        current = pools.get(shared.key) is shared
        if current and retire:
            del pools[shared.key]
        elif current:
            pools.move_to_end(shared.key)
        if not shared.users and (retire or not current):
            await self._close([shared])

    def tell_of_wait(self) -> None:
        """A hop waits for its turn. That may be meant, so it is logged once."""
        if not self._told:
            self._told = True
            logger.warning(
                "all %d connections of a pool are in use, so requests wait their turn; "
                "if that is not meant, raise connections= of HttpTransport",
                self._connections,
            )

    async def aclose(self) -> None:
        """Close every connection of this event loop, those in use too."""
        pools = self._pools()
        idle = list(pools.values())
        pools.clear()
        await self._close(idle)

    def _pools(self) -> OrderedDict[PoolKey, SharedPool]:
        every = _of_this_loop.get(None)
        if every is None:
            every = WeakKeyDictionary[Pools, OrderedDict[PoolKey, SharedPool]]()
            _of_this_loop.set(every)
        return every.setdefault(self, OrderedDict())

    def _overdue(self, pools: OrderedDict[PoolKey, SharedPool], *, to_come: int) -> list[SharedPool]:
        """Takes out what is to be closed before one more comes; the least recently used stand first."""
        surplus, now, overdue = len(pools) + to_come - self._limit, anyio.current_time(), list[SharedPool]()
        for shared in pools.values():
            if surplus <= 0 and now - shared.used_at <= IDLE_SECONDS:
                break
            if not shared.users:
                overdue.append(shared)
                surplus -= 1
        for shared in overdue:
            del pools[shared.key]
        return overdue

    async def _close(self, those: list[SharedPool]) -> None:
        with anyio.CancelScope(shield=True):
            for shared in those:
                await shared.pool.aclose()
