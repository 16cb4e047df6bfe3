"""What an error of a model call means."""

from __future__ import annotations

import asyncio
import errno
import math
import socket
from typing import Any

import pytest

from psych_runtime.failures.classify import classify
from psych_runtime.model.errors.replies import CallErrors, error_of_reply
from psych_runtime_core.errors import (
    AccessDenied,
    ConversationError,
    CredentialNotFound,
    ModelError,
    ModelErrorKind,
    RequestFailed,
    ResponseTooLarge,
    TransientError,
)
from psych_runtime_core.records.facts import FailureKind
from psych_runtime_core.scope import Scope


class StatusError(Exception):
    """An error of somebody's SDK."""

    def __init__(self, status_code: object) -> None:
        super().__init__(status_code)
        self.status_code = status_code


def refused(kind: ModelErrorKind) -> ModelError:
    return ModelError(kind, "no")


TRANSIENT_ERRNOS = [
    errno.ECONNRESET,
    errno.ECONNREFUSED,
    errno.ECONNABORTED,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ENETRESET,
    errno.EAGAIN,
]
TRANSIENT_STATUSES = [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529]
PERMANENT_STATUSES: list[object] = [
    204,
    302,
    400,
    402,
    404,
    405,
    409,
    410,
    422,
    501,
    505,
    519,
    525,
    "503",
    None,
]


class CredentialWithStatus(CredentialNotFound):
    """Neither its status nor anything else makes it pass."""

    status_code = 503


class Opaque(Exception):
    """It raises when it is looked at."""

    @property
    def status_code(self) -> int:
        raise RuntimeError("not now")


CASES = [
    *[(refused(kind), kind.value) for kind in ModelErrorKind],
    *[(OSError(number, "no"), "transient") for number in TRANSIENT_ERRNOS],
    *[(StatusError(status), "transient") for status in TRANSIENT_STATUSES],
    *[(StatusError(status), "permanent") for status in PERMANENT_STATUSES],
    (StatusError(401), "auth"),
    (StatusError(403), "auth"),
    (TransientError("later"), "transient"),
    (TimeoutError(), "transient"),
    (ConnectionResetError(), "transient"),
    (socket.gaierror(socket.EAI_NONAME, "no such host"), "transient"),
    (RequestFailed("https://api.example.com", "connect", "refused", sent=False), "transient"),
    (RequestFailed("https://api.example.com", "read", "reset", sent=True), "transient"),
    (AccessDenied("a model", "not yours"), "access_denied"),
    (CredentialNotFound(Scope(tenant="acme"), "openai"), "credential_not_found"),
    (CredentialWithStatus(Scope(tenant="acme"), "openai"), "credential_not_found"),
    (ResponseTooLarge("https://api.example.com", 65_536), "permanent"),
    (OSError(errno.ENOENT, "no file"), "permanent"),
    (ConversationError(3, "a bug"), "permanent"),
    (KeyError("choices"), "permanent"),
    (StatusError([503]), "permanent"),
    (Opaque(), "permanent"),
    (asyncio.CancelledError(), "permanent"),
]


@pytest.mark.parametrize(("error", "kind"), [pytest.param(*case, id=f"{case[0]!r}") for case in CASES])
def test_an_error_has_one_kind(error: BaseException, kind: str) -> None:
    assert classify(error) == (FailureKind(kind), None)


@pytest.mark.parametrize("status", range(400, 600))
def test_a_status_means_the_same_on_an_error_of_any_sdk_as_in_a_reply(status: int) -> None:
    kind, _ = classify(StatusError(status))
    reply = error_of_reply(status, {}, b"", CallErrors(provider="p", model="m"))
    assert kind.value == reply.kind.value


@pytest.mark.parametrize(
    ("given", "hint"),
    [(0.0, 0.0), (2.5, 2.5), (86_400.0, 86_400.0), (1e9, 86_400.0), (None, None)]
    + [(unusable, None) for unusable in (-0.1, math.nan, math.inf, -math.inf, "soon")],
)
def test_the_hint_of_a_provider_is_at_most_a_day_and_never_nonsense(given: Any, hint: float | None) -> None:
    overloaded = ModelError(ModelErrorKind.TRANSIENT, "overloaded", retry_after_seconds=given)
    assert classify(overloaded) == (FailureKind.TRANSIENT, hint)
    assert classify(TransientError("later", given)) == (FailureKind.TRANSIENT, hint)
