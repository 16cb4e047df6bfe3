"""What the status of a reply means, whoever sent it."""

from __future__ import annotations

from http import HTTPStatus

from psych_runtime_core.records.facts import FailureKind

AUTH_STATUSES = frozenset({401, 403})
# 520 to 524 are Cloudflare's, 529 is Anthropic's "overloaded".
TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, *range(520, 525), 529})
# A gateway answers these in the place of a server of which it saw no answer.
GATEWAY_STATUSES = frozenset({502, 504, *range(520, 525)})
# Of the failures of a server these alone say that it never began: it cannot do such a thing.
NEVER_BEGUN_STATUSES = frozenset({501, 505})


def may_pass(status: int) -> bool:
    """Whether a server that answers this may answer otherwise a little later."""
    return status in TRANSIENT_STATUSES


def end_is_unseen(status: int) -> bool:
    """Whether nobody who answered this knows what the server behind it did."""
    return status in GATEWAY_STATUSES


def says_nothing_was_done(status: int, *, asks_to_wait: bool) -> bool:
    """Whether a server that answers this did nothing; `asks_to_wait`: it named a time to come again."""
    if status < HTTPStatus.INTERNAL_SERVER_ERROR or status in NEVER_BEGUN_STATUSES:
        return True
    return status == HTTPStatus.SERVICE_UNAVAILABLE and asks_to_wait


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
