"""What an error means: the one judge of whether trying again can help."""

from __future__ import annotations

import errno
import math
import socket

from psych_runtime.failures.retry_after import LONGEST_HINT_SECONDS
from psych_runtime.failures.statuses import kind_of_status
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelError, TransientError
from psych_runtime_core.records.facts import FailureKind

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
# They are what their class says, whatever else they carry.
_KINDS: dict[type[BaseException], FailureKind] = {
    AccessDenied: FailureKind.ACCESS_DENIED,
    CredentialNotFound: FailureKind.CREDENTIAL_NOT_FOUND,
}


def classify(error: BaseException) -> tuple[FailureKind, float | None]:
    """The kind of a failed call, and the seconds its server asked to wait: 0 to a day, or None.

    A cancellation is an error like any other: whoever made it is not told of it here.
    """
    if isinstance(error, ModelError):
        return FailureKind(error.kind.value), _hint(error.retry_after_seconds)
    if isinstance(error, TransientError):
        return FailureKind.TRANSIENT, _hint(error.retry_after_seconds)
    kinds = (kind for cls, kind in _KINDS.items() if isinstance(error, cls))
    return next(kinds, None) or _kind_of_stranger(error), None


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
    return kind_of_status(status) if isinstance(status, int) else FailureKind.PERMANENT


def _hint(seconds: float | None) -> float | None:
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        return None
    return min(seconds, LONGEST_HINT_SECONDS)
