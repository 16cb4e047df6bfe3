"""Virtual time: an event loop that jumps to its next timer when nothing else is left to do."""

from __future__ import annotations

import asyncio
import math
import selectors
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from psych_runtime.testing.clock import START, microseconds

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class VirtualTimeStuck(RuntimeError):
    """Nothing is ready and no timer is set: no time would ever come. `pending` says who waits, and where."""

    def __init__(self, pending: tuple[str, ...]) -> None:
        self.pending = pending
        waiting = "".join(f"\n  {task}" for task in pending) or " nobody"
        super().__init__(f"virtual time is stuck: nothing is ready and no timer is set; waiting:{waiting}")


class RealIoInVirtualTime(RuntimeError):
    """A socket, thread or process was used, which virtual time cannot wait for; `used` says which."""

    def __init__(self, used: str) -> None:
        self.used = used
        super().__init__(f"virtual time waits for timers alone, not for {used}; fake it, or use a real loop")


def run_virtual(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What `main()` returns, run on a `VirtualLoop` of its own.

    Raises `VirtualTimeStuck`, `RealIoInVirtualTime`, and inside a running loop `RuntimeError`.
    """
    refuse_inside_a_loop("run_virtual")
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


def refuse_inside_a_loop(call: str) -> None:
    """Raise `RuntimeError` where a loop runs, which `call` would stand still."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(f"{call} owns its event loop; call it where none is running")


class VirtualClock:
    """The `Clock` of a program on a `VirtualLoop`: it reads `start` when the loop begins."""

    def __init__(self, start: datetime = START) -> None:
        if start.tzinfo is None:
            raise ValueError("start is naive; give it a timezone")
        self._start = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time begins at 0.0 and stands still while anything is ready.

    A use of real I/O raises where it happens and, so that nobody can swallow it, out of the loop.
    """

    has_virtual_time = True

    def __init__(self) -> None:
        self._jumps = _JumpingSelector()
        super().__init__(self._jumps)
        # The wake-up pipe that a loop registers for itself is all that is ever let in.
        self._jumps.loop = self

    def time(self) -> float:
        return self._jumps.elapsed / 1e6

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if when == math.inf:  # a sleep without end is no timer: time would jump towards it for ever
            return asyncio.TimerHandle(when, callback, args, self, context)
        # A loop runs a timer that is due within its next nanosecond. After 97 days a float has no room for
        # one, and a timer at the very moment that it is would never run.
        return super().call_at(math.nextafter(when, -math.inf), callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self._jumps.thread:
            self._jumps.refusal(f"the thread {threading.current_thread().name!r}")
        return super().call_soon_threadsafe(callback, *args, context=context)

    def run_in_executor(
        self,
        executor: object,  # noqa: ARG002 - the signature of every loop
        func: Callable[[*Ts], object],
        *args: *Ts,  # noqa: ARG002 - the signature of every loop
    ) -> NoReturn:
        raise self._jumps.refusal(f"a thread that runs {func!r}")

    async def subprocess_exec(self, *args: Any, **_options: Any) -> NoReturn:
        raise self._jumps.refusal(f"the process {args[1:]!r}")

    async def subprocess_shell(self, *args: Any, **_options: Any) -> NoReturn:
        raise self._jumps.refusal(f"the process {args[1:]!r}")


class _JumpingSelector(selectors.SelectSelector):
    """Polls nothing: to be told that there is time to wait is to let that time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 0  # microseconds
        self.loop: VirtualLoop | None = None
        self.thread = threading.get_ident()
        self._threads = set(threading.enumerate())
        self._refused: RealIoInVirtualTime | None = None
        self._ended = False

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if self.loop is not None:
            raise self.refusal(f"the socket or file {fileobj!r}")
        return super().register(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout != 0:
            self._refuse_threads()
        if self._refused is not None and not self._ended:
            self._ended = True  # what is cancelled now may clean up in peace
            raise self._refused
        if timeout is None:
            raise VirtualTimeStuck(_waiting_on(self.loop))
        self.elapsed += microseconds(timeout)
        return []

    def refusal(self, used: str) -> RealIoInVirtualTime:
        """The error to raise now; the loop raises it too, at its next turn."""
        self._refused = RealIoInVirtualTime(used)
        return self._refused

    def _refuse_threads(self) -> None:
        started = set(threading.enumerate()) - self._threads
        self._threads |= started
        if started:
            self.refusal(f"the thread {min(thread.name for thread in started)!r}")


def _waiting_on(loop: asyncio.AbstractEventLoop | None) -> tuple[str, ...]:
    return tuple(sorted(f"{task.get_name()} {_place(task)}" for task in asyncio.all_tasks(loop)))


def _place(task: asyncio.Task[Any]) -> str:
    return ", ".join(
        f"in {frame.f_code.co_name} ({frame.f_code.co_filename}:{frame.f_lineno})"
        for frame in task.get_stack(limit=1)
    )
