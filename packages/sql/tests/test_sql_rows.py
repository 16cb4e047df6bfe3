"""Values as rows keep them."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_sql.rows import instant, micros

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# Off the very ends of the calendar, where an instant in UTC has no year.
INSTANTS = st.datetimes(timezones=ZONES).filter(lambda at: 1 < at.year < 9999)


@given(INSTANTS)
def test_an_instant_comes_back_to_the_microsecond_in_utc(at: datetime) -> None:
    assert instant(micros(at)) == at
    assert instant(micros(at)).tzinfo is UTC


@given(INSTANTS, INSTANTS)
def test_instants_keep_their_order(one: datetime, two: datetime) -> None:
    assert (micros(one) < micros(two)) == (one < two)
