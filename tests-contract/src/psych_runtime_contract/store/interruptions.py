"""Calls that are cancelled while they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any


async def cut_short(call: Awaitable[object], wait: int) -> bool:
    """Cancel `call` in its wait of this number, from 0; whether it had so many, and ended by it."""
    task = asyncio.create_task(_run(_Cut(call, wait)))
    await asyncio.wait([task])
    if task.cancelled():
        return True
    task.result()
    return False


async def _run(cut: _Cut) -> None:
    await cut


class _Cut:
    """Awaits a call, and cancels the task it does so in."""

    def __init__(self, call: Awaitable[object], wait: int) -> None:
        self._call, self._wait = call, wait

    def __await__(self) -> Generator[Any, Any, object]:
        task, steps = asyncio.current_task(), self._call.__await__()
        assert task is not None
        left = self._wait
        step: Callable[[], Any] = partial(next, steps)
        while True:
            try:
                awaited = step()
            except StopIteration as ended:
                return ended.value
            if left == 0:
                # Before whatever is awaited can have come.
                asyncio.get_running_loop().call_soon(task.cancel)
            left -= 1
            try:
                yield awaited
            except BaseException as error:
                step = partial(steps.throw, error)
            else:
                step = partial(next, steps)
