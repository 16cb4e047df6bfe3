"""Cutting a Worker off: at one point of its work it is dead, and nothing it does reaches the world."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from contextvars import ContextVar, copy_context
from inspect import CORO_CREATED, getcoroutinestate
from types import TracebackType
from typing import Any, Literal

Points = Literal["commits", "awaits"]
# What a dead Worker's clean-up may take, before what is left of it is taken for a tool that ignores its end.
BURIAL_SECONDS = 60.0


class WorkerKilled(BaseException):
    """The Worker is dead. Its code sees this in place of whatever it asked for."""


class Switch:
    """Counts the points of a Worker's work, and kills it at the one of this number; None lets it live.

    `commits` are the calls of its ports, one point before and one after each; `awaits` are the moments at
    which one of its tasks is resumed. `busy` are the points at which a tool ran, or just had. `death` is done
    when it is dead.
    """

    def __init__(self, at: Points, kill_at: int | None = None) -> None:
        self.dead, self.where = False, ""
        self.points = 0
        self.names: list[str] = []
        self.busy: list[int] = []
        self.undead: tuple[str, ...] = ()
        self._at, self.kill_at = at, kill_at
        self._tools, self._buried, self._retired = 0, False, False
        self._tasks: set[asyncio.Task[Any]] = set()
        self.death: asyncio.Future[None]

    def gate(self, name: str) -> None:
        """Let a call of a port through. Raises `WorkerKilled` when the Worker is dead, or dies of it."""
        if self.dead:
            raise WorkerKilled(name)
        moment, _, port = name.partition(" ")
        if port.startswith("tool "):
            self._tools += 1 if moment == "before" else -1
        if self._at == "commits" and port != "watch":
            self.names.append(name)
            if self._is_reached(near_tool=port.startswith("tool ")):
                self._die(name)
                raise WorkerKilled(name)

    def start(self, worker: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a Worker whose tasks, and theirs, are under this switch."""
        loop = asyncio.get_running_loop()
        self.death = loop.create_future()
        loop.set_task_factory(_watched_task)
        context = copy_context()
        context.run(_OVER.set, self)
        return loop.create_task(worker, context=context)

    def retire(self) -> None:
        """The work is done: what the Worker does to end has no points."""
        self._retired = True

    async def bury(self) -> None:
        """Cancel what the Worker left, and wait until it has cleaned up. What does not end is `undead`."""
        if await self._drained(BURIAL_SECONDS):
            return
        self.undead = tuple(sorted(_place(task) for task in self._tasks if not task.done()))
        self._buried = True
        await self._drained(BURIAL_SECONDS)

    async def _drained(self, seconds: float) -> bool:
        while left := {task for task in self._tasks if not task.done()}:
            # A task that is cancelled before its first step leaves a coroutine that nobody awaited.
            await asyncio.sleep(0)
            for task in left:
                task.cancel()
            _, pending = await asyncio.wait(left, timeout=seconds)
            if pending:
                return False
        for task in self._tasks:
            if not task.cancelled():
                task.exception()
        return True

    def take(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)

    def resumed(self, coroutine: Coroutine[Any, Any, Any]) -> bool:
        """A task of the Worker is about to go on; whether it dies here."""
        if self.dead or self._at != "awaits" or getcoroutinestate(coroutine) == CORO_CREATED:
            return False
        if not self._is_reached(near_tool=self._tools > 0):
            return False
        self._die(_line(coroutine))
        return True

    @property
    def is_buried(self) -> bool:
        return self._buried

    def _is_reached(self, *, near_tool: bool) -> bool:
        if self._retired:
            return False
        number, self.points = self.points, self.points + 1
        if near_tool:
            self.busy.append(number)
        return number == self.kill_at

    def _die(self, where: str) -> None:
        self.dead, self.where = True, where
        self.death.set_result(None)


_OVER: ContextVar[Switch | None] = ContextVar("switch", default=None)


def _watched_task(
    loop: asyncio.AbstractEventLoop, coroutine: Any, *, context: Any = None, **options: Any
) -> asyncio.Task[Any]:
    """The task factory: who is started by a watched task is watched too."""
    switch = _OVER.get() if context is None else context.get(_OVER)
    watched = coroutine if switch is None else _Steps(coroutine, switch)
    task: asyncio.Task[Any] = asyncio.Task(watched, loop=loop, context=context, **options)
    if switch is not None:
        switch.take(task)
    return task


class _Steps(Coroutine[Any, Any, Any]):
    """A coroutine that asks the switch before each step."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], switch: Switch) -> None:
        self._coroutine, self._switch = coroutine, switch

    def send(self, value: Any) -> Any:
        if self._switch.is_buried:
            self._end()
        if self._switch.resumed(self._coroutine):
            return self._coroutine.throw(WorkerKilled())
        return self._coroutine.send(value)

    def throw(self, kind: Any, value: Any = None, trace: TracebackType | None = None) -> Any:
        del trace
        if self._switch.is_buried:
            self._end()
        dies = self._switch.resumed(self._coroutine)
        return self._coroutine.throw(WorkerKilled() if dies else value or kind)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        # anyio and asyncio look at `cr_frame` and its like.
        return getattr(self._coroutine, name)

    def _end(self) -> None:
        """Code that ignores its cancellation is not run any more."""
        with suppress(RuntimeError):
            self._coroutine.close()
        raise StopIteration


def _line(coroutine: Any) -> str:
    """Where a coroutine stands: the innermost of those it awaits that has a frame."""
    place = getattr(coroutine, "__qualname__", repr(coroutine))
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is not None:
            place = f"{frame.f_code.co_filename.rpartition('/site-packages/')[2]}:{frame.f_lineno}"
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)
    return place


def _place(task: asyncio.Task[Any]) -> str:
    return f"{task.get_name()} at {_line(task.get_coro())}"
