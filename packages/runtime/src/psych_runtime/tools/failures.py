"""How a call failed: raised in words of ours, or read off whatever a tool raised."""

from __future__ import annotations

import traceback
from typing import cast

from psych_runtime.failures.classify import classify
from psych_runtime.secrets.masks import NO_MASKS, Masks
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import AccessDenied, CredentialNotFound
from psych_runtime_core.records.facts import MAX_TRACEBACK, FailureKind, ToolFailure


class CallFailed(Exception):
    """A tool of our own ran and failed; the failure's message is what the model will be told."""

    def __init__(self, failure: ToolFailure) -> None:
        self.failure = failure
        super().__init__(failure.message)


class EndUnseen(CallFailed):
    """Nobody saw the end: what the tool asked of the world may have been done."""


def failure_of(error: BaseException, masks: Masks = NO_MASKS) -> ToolFailure:
    """The failure that `error` means: named by its class, in its own words, marked when it may pass.

    Of an exception group it is the first member's, and the others are counted. The traceback is for
    operators. Texts have no secret in them and are cut to what a record holds. It never raises.
    """
    first, others = _first_of(error)
    transient, retry_after_seconds = _outlook(first)
    message = _words(first) + (f" (and {others} more)" if others else "")
    return ToolFailure(
        kind=type(first).__name__,
        message=masks.beginning(message, 2 * wording.MAX_TEXT),
        traceback=_traceback(error, masks),
        transient=transient,
        retry_after_seconds=retry_after_seconds,
    )


def told_failure_of(error: BaseException, masks: Masks) -> ToolFailure:
    """The failure of a tool that raised `error`, its message what the model will be told. It never raises."""
    if isinstance(error, CallFailed):
        trace = None if error.__cause__ is None else _traceback(error, masks)
        told = {"message": masks.text(error.failure.message), "traceback": trace}
        return error.failure.model_copy(update=told)
    seen = failure_of(error, masks)
    first, _ = _first_of(error)
    if isinstance(first, CredentialNotFound):
        text = masks.text(wording.credential_not_found(first.name))
        return seen.model_copy(update={"kind": FailureKind.CREDENTIAL_NOT_FOUND, "message": text})
    text = wording.failed(seen.message, transient=seen.transient)
    return seen.model_copy(update={"message": text})


def kept_out_by(error: BaseException) -> AccessDenied | CredentialNotFound | None:
    """The refusal behind a failure that a setting of the operator's would undo."""
    first, _ = _first_of(error)
    behind = first.__cause__ if isinstance(first, CallFailed) else first
    return behind if isinstance(behind, AccessDenied | CredentialNotFound) else None


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


def _traceback(error: BaseException, masks: Masks) -> str | None:
    try:
        return masks.ending("".join(traceback.format_exception(error)), 2 * MAX_TRACEBACK)
    except BaseException:
        return None
