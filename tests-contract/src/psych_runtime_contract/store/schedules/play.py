"""Actors that go on one store call at a time, in an order that somebody else decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from anyio import Event, create_task_group

from psych_runtime.store_proxy import StoreProxy
from psych_runtime_contract.store.schedules.actors import Actor
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.claims import Claims
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Entry, Head

T = TypeVar("T")


class Turns(StoreProxy):
    """The store as one actor has it: before each call it halts."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.halted, self._let_on = Event(), Event()
        self.is_done = False
        self._answers: dict[str, Hashable] = {}
        self._last, self._written = "", 0

    @property
    def knows(self) -> Hashable:
        """All that decides what the actor does next: what each kind of call answered last."""
        return None if self.is_done else (self._last, self._written, *self._answers.items())

    async def run(self, actor: Actor, run_id: RunId) -> None:
        """The whole of an actor."""
        await actor(self, run_id)
        self.is_done = True
        self.halted.set()

    async def go_on(self) -> None:
        """Let it make its next call, until it halts again or is done."""
        self.halted = Event()
        self._let_on.set()
        await self.halted.wait()

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        self.halted.set()
        await self._let_on.wait()
        self._let_on, self._last = Event(), name
        try:
            answer = await call()
        except Exception as error:
            self._answers[name] = type(error).__name__
            raise
        self._answers[name] = told(answer)
        self._written += name == "commit"
        return answer


def told(answer: object) -> Hashable:
    """What an actor may act on, whatever the time and the name of the Run."""
    if isinstance(answer, RunHeader):
        return answer.head.seq, answer.lease is not None, answer.terminal
    if isinstance(answer, Claims):
        return tuple(claim.lease.epoch for claim in answer.claims)
    parts = cast("tuple[Entry | Head, ...]", answer)
    return tuple(part.body if isinstance(part, Entry) else part.seq for part in parts)


class Playing:
    """Actors on one Run, each halted before its next call."""

    def __init__(self, store: Store, run_id: RunId, actors: Mapping[str, Actor]) -> None:
        self.store, self.run_id = store, run_id
        self._turns = {name: Turns(store) for name in actors}

    @property
    def waiting(self) -> list[str]:
        """Who is not done."""
        return [name for name, turns in self._turns.items() if not turns.is_done]

    @property
    def known(self) -> Hashable:
        """What each kind of actor knows: of two Workers it is no matter which knows what."""
        known = ((name.partition(" ")[0], turns.knows) for name, turns in self._turns.items())
        return frozenset(Counter(known).items())

    async def go_on(self, name: str) -> None:
        """Let one actor make its next call."""
        await self._turns[name].go_on()

    @asynccontextmanager
    async def begun(self, actors: Mapping[str, Actor]) -> AsyncGenerator[Playing]:
        """Within the block each stands before its first call; behind it nobody goes on."""
        async with create_task_group() as group:
            for name, actor in actors.items():
                group.start_soon(self._turns[name].run, actor, self.run_id)
                await self._turns[name].halted.wait()
            yield self
            group.cancel_scope.cancel()
