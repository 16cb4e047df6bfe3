"""One run of a tool's code: on the loop when it is async, in a thread when it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import TypeGuard

import anyio

from psych_runtime.tools.any_tool import AnyTool
from psych_runtime.tools.context import ToolContext, cut_short
from psych_runtime.tools.ending import Ending, Raised, Returned, Unheard, ending_of, ending_of_awaited
from psych_runtime.tools.threads import ToolThreads

# The loop itself holds a task weakly; one that was left to end by itself would be collected half-way.
_UNDER_WAY: set[asyncio.Task[Ending]] = set()


class CodeRun:
    """Code of a consumer that runs beside whoever waits for it. Needs a running loop.

    Without `threads` the code is called on the loop; what it returns is awaited there when it can be.
    """

    def __init__(
        self, code: Callable[[], object], *, threads: ToolThreads | None, context: ToolContext | None
    ) -> None:
        self.began = anyio.Event()
        self.was_cut = False
        self._code, self._threads, self._context = code, threads, context
        self._task = asyncio.create_task(self._run())
        _UNDER_WAY.add(self._task)
        self._task.add_done_callback(_UNDER_WAY.discard)

    async def wait(self) -> Ending:
        """How it ended. Whoever is cancelled here leaves the code running; `cut` ends it."""
        await asyncio.wait({self._task})
        # Cut before its first step: nothing of it began.
        return Raised(asyncio.CancelledError()) if self._task.cancelled() else self._task.result()

    def cut(self) -> None:
        """Cancel async code, which unwinds; leave a thread to end `Unheard`, its context `cancelled`.

        Code that swallows its cancellation goes on; `wait` says when it has ended.
        """
        self.was_cut = True
        if self._context is not None:
            cut_short(self._context)
        self._task.cancel()

    async def _run(self) -> Ending:
        ending = await self._call()
        if isinstance(ending, Returned) and _is_awaitable(ending.value):
            if self.was_cut:
                # The cut met the thread's last moment, and went with it; what came of it is still to be cut.
                self._task.cancel()
            return await ending_of_awaited(ending.value)
        return ending

    async def _call(self) -> Ending:
        if self._threads is None:
            self.began.set()
            return ending_of(self._code)
        job = self._threads.submit(self._code, self.began.set)
        try:
            return await job.ended
        except asyncio.CancelledError as error:
            if job.ended.done() and not job.ended.cancelled():
                return job.ended.result()
            return Unheard() if self._threads.give_up(job) else Raised(error)


def _is_awaitable(value: object) -> TypeGuard[Awaitable[object]]:
    # A lazy stand-in for nothing raises even when it is asked of what type it is.
    return ending_of(lambda: isawaitable(value)) == Returned(value=True)


async def invoke(
    tool: AnyTool, values: Mapping[str, object], context: ToolContext | None, threads: ToolThreads
) -> Ending:
    """One run of `tool`, from beginning to end.

    Whoever is cancelled here cuts it, and waits until async code has unwound. Raises `ValueError` when the
    tool takes a context and there is none.
    """
    run = CodeRun(tool.bind(values, context), threads=None if tool.is_async else threads, context=context)
    try:
        return await run.wait()
    except asyncio.CancelledError:
        run.cut()
        with anyio.CancelScope(shield=True):
            await run.wait()
        raise
