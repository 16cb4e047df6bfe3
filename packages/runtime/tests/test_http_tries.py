"""Whether an HTTP call is tried once more, and after how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from psych_runtime.tools.http.reply import HttpReply
from psych_runtime.tools.http.tries import MAX_TRIES, Tried, TryTerms, pause_before_next
from psych_runtime_core.errors import RequestFailed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SAFE = TryTerms(safe=True, key="idem_1", deadline=None)
PASSING = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529)
UNSAFE = TryTerms(safe=False, key="idem_1", deadline=None)


def answered(status: int, **headers: str) -> HttpReply:
    return HttpReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


def failed(*, sent: bool) -> RequestFailed:
    return RequestFailed("https://a.example:443", "read", "gone", sent=sent)


@pytest.mark.parametrize(
    ("tried", "terms", "again"),
    [
        *[pytest.param(answered(status), SAFE, True, id=f"{status} of a safe call") for status in PASSING],
        *[pytest.param(answered(status), UNSAFE, False, id=f"{status} of another") for status in PASSING],
        *[
            pytest.param(answered(status), SAFE, False, id=f"{status} is final")
            for status in (200, 204, 302, 400, 401, 403, 404, 409, 422, 501, 505, 519, 525, 528, 530)
        ],
        pytest.param(failed(sent=True), SAFE, True, id="no reply to a safe call"),
        pytest.param(failed(sent=True), UNSAFE, False, id="no reply to another"),
        pytest.param(failed(sent=False), UNSAFE, True, id="nothing of it was delivered"),
    ],
)
def test_a_call_is_tried_again(tried: Tried, terms: TryTerms, again: bool) -> None:
    for number in range(1, MAX_TRIES):
        assert (pause_before_next(number, tried, terms, NOW) is not None) is again
    assert pause_before_next(MAX_TRIES, tried, terms, NOW) is None


@pytest.mark.parametrize(("number", "least"), [(1, 0.25), (2, 0.5)])
def test_pauses_double_and_are_spread_by_the_key(number: int, least: float) -> None:
    keys = [TryTerms(safe=True, key=f"idem_{key}", deadline=None) for key in range(40)]
    pauses = [pause_before_next(number, answered(503), terms, NOW) for terms in keys]
    assert all(pause is not None and least <= pause < 2 * least for pause in pauses)
    assert len(set(pauses)) == len(pauses)
    assert pauses == [pause_before_next(number, answered(503), terms, NOW) for terms in keys]


@pytest.mark.parametrize(
    "headers",
    [
        {"retry_after": "3"},
        {"retry_after_ms": "3000"},
        {"retry_after": "Thu, 01 Jan 2026 00:00:03 GMT"},
    ],
)
def test_the_server_says_how_long_to_wait(headers: dict[str, str]) -> None:
    pause = pause_before_next(1, answered(429, **headers), SAFE, NOW)
    assert pause is not None
    assert 3 <= pause <= 3.3


@pytest.mark.parametrize(
    ("seconds", "again"),
    [
        pytest.param(3.4, True, id="in time"),
        pytest.param(3.0, False, id="at the deadline"),
        pytest.param(0.1, False, id="after it"),
        pytest.param(-1.0, False, id="long after it"),
    ],
)
def test_no_try_begins_at_the_deadline(seconds: float, again: bool) -> None:
    terms = TryTerms(safe=True, key="idem_1", deadline=NOW + timedelta(seconds=seconds))
    assert (pause_before_next(1, answered(429, retry_after="3"), terms, NOW) is not None) is again


def test_not_even_one_that_need_not_wait() -> None:
    terms = TryTerms(safe=True, key="idem_1", deadline=NOW)
    before = NOW - timedelta(microseconds=1)
    assert pause_before_next(1, answered(429, retry_after="0"), terms, NOW) is None
    assert pause_before_next(1, answered(429, retry_after="0"), terms, before) == 0
