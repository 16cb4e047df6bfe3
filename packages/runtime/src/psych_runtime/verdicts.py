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
    """The code raised, took too long, or gave what is no verdict; its error is the cause."""


async def verdict_of(ask: Callable[[], Awaitable[object]], fits: Callable[[object], T], seconds: float) -> T:
    """What `fits` makes of the answer, which comes within `seconds`. Raises `NoVerdict` for any other end.

    A cancellation of this very task passes; one that the code made itself is a failure of it.
    """
    try:
        with anyio.fail_after(seconds) as time:
            verdict = fits(await ask())
        if time.cancel_called:
            raise TimeoutError("it swallowed its cancellation")
        return verdict
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        raise NoVerdict from error


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
