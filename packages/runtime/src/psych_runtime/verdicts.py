"""Asking the consumer's own code for a verdict: bounded in time, and it may raise or give anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

# A policy answers within it, or denies.
POLICY_SECONDS = 5.0
T = TypeVar("T")


class NoVerdict(Exception):
    """The code raised, took too long, or gave what is no verdict; its error is the cause.

    Its text ends a sentence about whoever was asked.
    """


async def verdict_of(ask: Callable[[], Awaitable[object]], fits: Callable[[object], T], seconds: float) -> T:
    """What `fits` makes of the answer, which comes within `seconds`. Raises `NoVerdict` for any other end.

    A cancellation of this very task passes; one that the code made itself is a failure of it.
    """
    time = anyio.CancelScope(deadline=anyio.current_time() + seconds)
    try:
        with time:
            verdict = fits(await ask())
            # Code may swallow its cancellation, and answer late.
            if not time.cancel_called:
                return verdict
        raise TimeoutError("its time was over")
    except BaseException as error:
        if is_cancellation(error):
            raise
        what = f"gave no answer within {seconds:g} s" if time.cancel_called else "failed"
        raise NoVerdict(what) from error


def is_cancellation(error: BaseException) -> bool:
    """Whether `error` is the cancellation of this very task, and so no failure of the code that it runs."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
