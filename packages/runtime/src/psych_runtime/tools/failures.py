"""Whatever a tool raised, as the failure of its call."""

from __future__ import annotations

import traceback
from typing import cast

from psych_runtime.model.transient import classify
from psych_runtime_core.records.facts import FailureKind, ToolFailure


def failure_of(error: BaseException) -> ToolFailure:
    """The failure that `error` means: named by its class, in its own words, marked when it may pass.

    Of an exception group it is the first member's, and the others are counted. The traceback is for
    operators. Texts are cut to what a record holds. It never raises.
    """
    first, others = _first_of(error)
    transient, retry_after_seconds = _outlook(first)
    return ToolFailure(
        kind=type(first).__name__,
        message=_words(first) + (f" (and {others} more)" if others else ""),
        traceback=_traceback(error),
        transient=transient,
        retry_after_seconds=retry_after_seconds,
    )


def _first_of(error: BaseException) -> tuple[BaseException, int]:
    """The first exception in a group that is no group itself, and how many stand beside it."""
    leaves: list[BaseException] = []
    todo = [error]
    while todo:
        one = todo.pop()
        if isinstance(one, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", one)
            todo += reversed(group.exceptions)
        else:
            leaves.append(one)
    return leaves[0], len(leaves) - 1


def _words(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except BaseException:
        # A `__str__` of the consumer's own may raise anything, `SystemExit` included.
        return type(error).__name__


def _outlook(error: BaseException) -> tuple[bool, float | None]:
    if not isinstance(error, Exception):
        return False, None
    kind, hint = classify(error)
    return kind is FailureKind.TRANSIENT, hint


def _traceback(error: BaseException) -> str | None:
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:
        return None
