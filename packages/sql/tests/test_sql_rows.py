"""Values as rows keep them."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.ids import RunId
from psych_runtime_sql.queue import deal
from psych_runtime_sql.rows import instant, key_digest, micros

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


def test_keys_of_two_tenants_never_meet() -> None:
    pairs = [("acme", "order"), ("acm", "eorder"), ("Acme", "order"), ("acme", "Order")]
    assert len({key_digest(tenant, key) for tenant, key in pairs}) == len(pairs)


RUNS = st.lists(st.integers(0, 99).map(lambda number: RunId(f"run_{number}")), max_size=6)


@given(st.dictionaries(st.sampled_from("abcdef"), RUNS), st.integers(1, 20))
def test_a_deal_goes_round_and_gives_what_there_is(first: dict[str, list[RunId]], limit: int) -> None:
    dealt = deal(first, limit)
    assert len(dealt) == min(limit, sum(map(len, first.values())))
    for tenant, runs in first.items():
        assert [run_id for name, run_id in dealt if name == tenant] == runs[: count(dealt, tenant)]
    most = max((count(dealt, tenant) for tenant in first), default=0)
    waiting = [tenant for tenant, runs in first.items() if count(dealt, tenant) < len(runs)]
    assert all(count(dealt, tenant) >= most - 1 for tenant in waiting)


def count(dealt: list[tuple[str, RunId]], tenant: str) -> int:
    return sum(name == tenant for name, _ in dealt)
