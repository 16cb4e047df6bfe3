"""How long a provider asks to wait."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.failures.retry_after import LONGEST_HINT_SECONDS, retry_after

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def on_wire(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


IN_FIVE = on_wire(NOW + timedelta(seconds=5))
DATED = {"date": on_wire(NOW)}
ROWS: dict[str, tuple[dict[str, str], float | None]] = {
    "nothing": ({}, None),
    "nothing but a date": (DATED, None),
    "seconds": ({"retry-after": "7"}, 7.0),
    "seconds under any case, with blanks": ({"Retry-After": " 7 "}, 7.0),
    "decimals": ({"retry-after": "0.5"}, 0.5),
    "no leading digit": ({"retry-after": ".5"}, 0.5),
    "zero": ({"retry-after": "0"}, 0.0),
    "a day and more": ({"retry-after": "86401"}, LONGEST_HINT_SECONDS),
    "more than a float holds": ({"retry-after": "9" * 400}, LONGEST_HINT_SECONDS),
    "negative": ({"retry-after": "-1"}, None),
    "nan": ({"retry-after": "nan"}, None),
    "infinite": ({"retry-after": "inf"}, None),
    "overflowing": ({"retry-after": "1e999"}, None),
    "words": ({"retry-after": "soon"}, None),
    "empty": ({"retry-after": ""}, None),
    "digits of another script": ({"retry-after": "٧"}, None),
    "two at once": ({"retry-after": "7, 9"}, None),
    "milliseconds": ({"retry-after-ms": "1500"}, 1.5),
    "milliseconds before seconds": ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    "unreadable milliseconds": ({"retry-after-ms": "-3", "retry-after": "9"}, 9.0),
    "milliseconds of more than a day": ({"retry-after-ms": "90000000"}, LONGEST_HINT_SECONDS),
    "a date, against the reply's own": ({**DATED, "retry-after": IN_FIVE}, 5.0),
    "a date against a wrong clock": (
        {
            "date": on_wire(NOW - timedelta(days=400)),
            "retry-after": on_wire(NOW - timedelta(days=400, seconds=-5)),
        },
        5.0,
    ),
    "a past date": ({**DATED, "retry-after": on_wire(NOW - timedelta(hours=1))}, 0.0),
    "a date far off": ({**DATED, "retry-after": "Thu, 01 Jan 2099 00:00:00 GMT"}, LONGEST_HINT_SECONDS),
    "the older form of a date": ({**DATED, "retry-after": "Sunday, 01-Mar-26 12:00:05 GMT"}, 5.0),
    "the oldest form of a date": ({**DATED, "retry-after": "Sun Mar  1 12:00:05 2026"}, 5.0),
    "an unreadable date": ({**DATED, "retry-after": "Sun, 99 Mar 2026 12:00:05 GMT"}, None),
    "a date, nothing to measure by": ({"retry-after": IN_FIVE}, None),
    "seconds that a proxy hands on": ({"llm_provider-retry-after": "7"}, 7.0),
    "milliseconds that a proxy hands on": ({"llm_provider-retry-after-ms": "1500"}, 1.5),
    "the proxy's own before what it hands on": ({"retry-after": "2", "llm_provider-retry-after": "7"}, 2.0),
    "the proxy's own, unreadable": ({"retry-after": "soon", "llm_provider-retry-after": "7"}, 7.0),
    "a date that a proxy hands on, against the one beside it": (
        {
            "date": on_wire(NOW - timedelta(days=1)),
            "llm_provider-date": on_wire(NOW),
            "llm_provider-retry-after": IN_FIVE,
        },
        5.0,
    ),
    "a date that a proxy hands on alone": ({**DATED, "llm_provider-retry-after": IN_FIVE}, 5.0),
    "a date, an unreadable one to measure by": ({"date": "today", "retry-after": IN_FIVE}, None),
}


@pytest.mark.parametrize(("headers", "seconds"), ROWS.values(), ids=ROWS)
def test_what_is_read_of_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_without_the_replys_own_is_measured_from_its_arrival_and_rounded_up() -> None:
    assert retry_after({"retry-after": IN_FIVE}, NOW + timedelta(seconds=0.4)) == 5.0
    assert retry_after({"retry-after": IN_FIVE}, NOW) == 5.0
    assert retry_after({"retry-after": IN_FIVE}, NOW + timedelta(seconds=30)) == 0.0


def test_the_replys_own_date_goes_before_its_arrival() -> None:
    assert retry_after({**DATED, "retry-after": IN_FIVE}, NOW + timedelta(hours=2)) == 5.0


LOCAL = NOW.replace(tzinfo=None)
moments = st.datetimes(LOCAL.replace(year=2001), LOCAL.replace(year=2090), timezones=st.just(UTC))
skews = st.timedeltas(timedelta(days=-3000), timedelta(days=3000))
waits = st.integers(0, 86_000)


@given(moments, skews, waits, st.integers(0, 30_000))
def test_a_hint_is_never_early_whatever_the_providers_clock_says(
    sent_at: datetime, skew: timedelta, wait: int, under_way_ms: int
) -> None:
    theirs = sent_at + skew
    wanted = theirs.replace(microsecond=0) + timedelta(seconds=wait)
    hint = retry_after({"date": on_wire(theirs), "retry-after": on_wire(wanted)})
    assert hint is not None
    again_at = sent_at + timedelta(milliseconds=under_way_ms, seconds=hint) + skew
    assert again_at >= wanted
    assert hint <= wait


@given(moments, waits)
def test_a_hint_without_a_date_is_never_early_where_the_clocks_agree(arrived: datetime, wait: int) -> None:
    wanted = arrived.replace(microsecond=0) + timedelta(seconds=wait)
    hint = retry_after({"retry-after": on_wire(wanted)}, arrived)
    assert hint is not None
    assert arrived + timedelta(seconds=hint) >= wanted
    assert hint <= wait


@given(st.dictionaries(st.sampled_from(["retry-after", "Retry-After-Ms", "date"]), st.text(max_size=40)))
def test_whatever_stands_there_gives_seconds_of_a_day_or_nothing(headers: dict[str, str]) -> None:
    seconds = retry_after(headers, NOW)
    assert seconds is None or 0 <= seconds <= LONGEST_HINT_SECONDS


@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms", "date"])
@pytest.mark.parametrize(
    "filler", ["9", "1 ", ".", ":", "-", ",", "(", '"', "a,", "Mon, ", "GMT ", "0:", "1-", " "]
)
def test_a_long_header_is_read_in_no_time(filler: str, header: str) -> None:
    for start in ("", on_wire(NOW), "Mon, 01 Mar "):
        begun = time.process_time()
        retry_after({**DATED, "retry-after": IN_FIVE, header: start + filler * (95_000 // len(filler))}, NOW)
        assert time.process_time() - begun < 1
