"""What the status of a reply means, whoever sent it."""

from __future__ import annotations

from http import HTTPStatus

from psych_runtime_core.records.facts import FailureKind

AUTH_STATUSES = frozenset({401, 403})
# 520 to 524 are Cloudflare's, 529 is Anthropic's "overloaded".
TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, *range(520, 525), 529})


def may_pass(status: int) -> bool:
    """Whether a server that answers this may answer otherwise a little later."""
    return status in TRANSIENT_STATUSES


def kind_of_status(status: int) -> FailureKind:
    """What a status means where nothing else is known."""
    if status in AUTH_STATUSES:
        return FailureKind.AUTH
    return FailureKind.TRANSIENT if may_pass(status) else FailureKind.PERMANENT


def status_in_words(status: int) -> str:
    """The number with what it stands for, as in `404 Not Found`; alone where it stands for nothing known."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
