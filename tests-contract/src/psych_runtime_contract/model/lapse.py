"""Time that passes without anybody waiting for it: the clock of the running loop, set ahead."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from weakref import WeakKeyDictionary

# Turns of the loop after each second: whoever is due in it has gone on to its next wait by then.
TURNS = 20


class LoopTime:
    """The time of one event loop: what it would be, and `ahead` seconds more. It never goes back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._real = loop.time
        self.ahead = 0.0
        setattr(loop, "time", self.now)  # noqa: B010 - a checker does not let a method be assigned

    def now(self) -> float:
        """What the loop now takes for its time."""
        return self._real() + self.ahead

    async def let_pass(self, seconds: float) -> None:
        """Go on by `seconds`, in steps of one at most; what falls due on the way happens."""
        while seconds > 0:
            step = min(1.0, seconds)
            self.ahead += step
            seconds -= step
            await settle()


_TIMES: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopTime] = WeakKeyDictionary()


def loop_time() -> LoopTime:
    """The time of the running loop."""
    loop = asyncio.get_running_loop()
    return _TIMES.get(loop) or _TIMES.setdefault(loop, LoopTime(loop))


async def settle() -> None:
    """Let all others run to their next wait."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Silence:
    """Among the pieces of a reply: so many seconds without a byte, none of which anybody waits for."""

    seconds: float

    async def wait(self) -> None:
        await settle()
        await loop_time().let_pass(self.seconds)
