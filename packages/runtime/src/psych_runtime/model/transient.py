"""What an error of a model call means: the one judge of whether trying again can help."""

from __future__ import annotations

import errno
import math
import socket

from psych_runtime_core.errors import AccessDenied, ModelError, TransientError
from psych_runtime_core.records.facts import FailureKind

LONGEST_HINT_SECONDS = 86_400.0

_TRANSIENT_ERRNOS = {
    errno.ECONNRESET,
    errno.ECONNREFUSED,
    errno.ECONNABORTED,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ENETRESET,
    errno.EAGAIN,
}
_AUTH_STATUSES = {401, 403}
# 520 to 524 are Cloudflare's, 529 is Anthropic's "overloaded".
_TRANSIENT_STATUSES = {408, 425, 429, 500, 502, 503, 504, *range(520, 525), 529}


def classify(error: BaseException) -> tuple[FailureKind, float | None]:
    """The kind of a failed call, and the seconds its provider asked to wait: 0 to a day, or None.

    A cancellation is an error like any other: whoever made it is not told of it here.
    """
    if isinstance(error, ModelError):
        return FailureKind(error.kind.value), _hint(error.retry_after_seconds)
    if isinstance(error, TransientError):
        return FailureKind.TRANSIENT, _hint(error.retry_after_seconds)
    if isinstance(error, AccessDenied):
        return FailureKind.ACCESS_DENIED, None
    return _kind_of_stranger(error), None


def attribute(error: BaseException, name: str) -> object:
    """An attribute that an error may have; None too when it is a property that raises."""
    try:
        return getattr(error, name, None)
    except Exception:
        return None


def _kind_of_stranger(error: BaseException) -> FailureKind:
    if isinstance(error, TimeoutError | ConnectionError | socket.gaierror):
        return FailureKind.TRANSIENT
    if isinstance(error, OSError) and error.errno in _TRANSIENT_ERRNOS:
        return FailureKind.TRANSIENT
    status = attribute(error, "status_code")
    if not isinstance(status, int):
        return FailureKind.PERMANENT
    if status in _AUTH_STATUSES:
        return FailureKind.AUTH
    return FailureKind.TRANSIENT if status in _TRANSIENT_STATUSES else FailureKind.PERMANENT


def _hint(seconds: float | None) -> float | None:
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        return None
    return min(seconds, LONGEST_HINT_SECONDS)
