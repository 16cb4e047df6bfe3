"""How a piece of a consumer's code ended, as a value that any exception fits in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Returned:
    """It ended with a value."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """It ended with an exception: `SystemExit`, `KeyboardInterrupt` and `CancelledError` are such too."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Unheard:
    """It was given up in a thread, where nothing can end it: what it does from now on nobody hears."""


Ending: TypeAlias = Returned | Raised | Unheard


def ending_of(code: Callable[[], object]) -> Returned | Raised:
    """Run `code` and say how it ended."""
    try:
        return Returned(code())
    except BaseException as error:
        return Raised(error)


async def ending_of_awaited(awaitable: Awaitable[object]) -> Returned | Raised:
    """Await it and say how it ended; a cancellation from outside is unwound and told like any exception."""
    try:
        return Returned(await awaitable)
    except BaseException as error:
        return Raised(error)
