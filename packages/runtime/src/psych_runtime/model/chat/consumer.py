"""What the consumer's own code gives a call: its key and its headers, or an error of ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

from psych_runtime.failures.classify import classify
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.verdicts import NoVerdict, verdict_of
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelError, ModelErrorKind, PsychError
from psych_runtime_core.records.facts import FailureKind

T = TypeVar("T")


class Unfit(ValueError):
    """What the code gave cannot be sent. Its words show no value."""

    def __init__(self, words: str, kind: ModelErrorKind = ModelErrorKind.PERMANENT) -> None:
        self.kind = kind
        super().__init__(words)


async def given_by(
    ask: Callable[[], Awaitable[object]], fits: Callable[[object], T], errors: CallErrors, what: str
) -> T:
    """What `fits` makes of the answer. Raises `ModelError`, `AccessDenied` and `CredentialNotFound` alone.

    `what` says what could not be had. An error of foreign code is named by its class: its words may hold the
    very secret that was asked for.
    """
    try:
        return await verdict_of(ask, fits, inf)
    except NoVerdict as none:
        cause = none.__cause__
    # Raised out here, so that nothing leads from it to the error that it stands for.
    raise _error_for(cause or TypeError(), errors, what)


def error_of_stranger(error: BaseException, errors: CallErrors, what: str, *, begun: bool) -> ModelError:
    """An error of foreign code as one of ours, which names its class alone."""
    passing = classify(error)[0] is FailureKind.TRANSIENT
    kind = ModelErrorKind.TRANSIENT if passing else ModelErrorKind.PERMANENT
    return errors.of_ours(kind, f"{what}: {type(error).__name__}.", begun=begun)


def _error_for(cause: BaseException, errors: CallErrors, what: str) -> PsychError:
    if isinstance(cause, Unfit):
        return errors.of_ours(cause.kind, f"{what}: {cause}.", begun=False)
    if isinstance(cause, AccessDenied | CredentialNotFound):
        cause.__cause__ = cause.__context__ = None
        return cause
    return error_of_stranger(cause, errors, what, begun=False)
