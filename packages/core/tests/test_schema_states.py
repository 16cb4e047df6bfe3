"""At how many places of a pattern a text can be, read off the pattern, and what reading by it costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.schema import reading, states
from psych_runtime_core.schema.expression import ENDLESS, expression
from psych_runtime_core.schema.reading import MAX_LOOKED_AT, Reading, together, weighed

BUSY = "[01]*1[01]{200}"


def at_once(pattern: str, length: int = ENDLESS) -> int:
    parts = expression(pattern)
    assert parts is not None
    return states.states(parts, length)


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        pytest.param("", 1, id="nothing"),
        pytest.param("^a", 2, id="a character"),
        pytest.param(r"^\p{L}[\p{L} .'-]*$", 4, id="a name"),
        pytest.param(r"^\S(.{0,253}\S)?$", 5, id="a title"),
        pytest.param(r"^\S.{0,500}$", 4, id="a long one: counted out, it is at one place of each count"),
        pytest.param(r"^(.|\n){1,2000}$", 4, id="of any lines"),
        pytest.param(r"^\d{4}-\d{2}-\d{2}$", 7, id="a date"),
        pytest.param("^(a+)+$", 3, id="loops in loops"),
        pytest.param("[01]*1[01]{200}[2-9]", 203, id="a count that may begin anywhere"),
        pytest.param("^x{0,9}y{50}", 12, id="or at ten places"),
        pytest.param("^(a?){2000}", 2_001, id="of what may be nothing"),
        pytest.param("^(a{1,3}){1,1000}", 3_001, id="of what has any length"),
        pytest.param("a{2}{3}", 6, id="counts of counts"),
        pytest.param("x{,5}", 5, id="a count without a least"),
        pytest.param("(a*){0}b", 2, id="no times"),
        pytest.param("(?:" * 45 + "a?" + "){4000000000}" * 45, ENDLESS, id="more than there is a number for"),
        pytest.param("(?:(?:a{4000000000}){4000000000}){0}b", 2, id="and that no times"),
        pytest.param("a|b|cc", 4, id="alternatives"),
        pytest.param(r"(?:a)(?P<n>b)(?<m>c)(?i:d)\b\x41\u{41}", 7, id="groups and escapes"),
        pytest.param("(" * 900 + "a" + ")" * 900, 1, id="groups in groups"),
        pytest.param("^" + "(?:" * 60 + "a{1,2}" + "){1,2}" * 60, 2 * 2**60 + 1, id="counts in counts"),
    ],
)
def test_a_text_is_at_so_many_places_at_once(pattern: str, most: int) -> None:
    assert at_once(pattern) == most


@pytest.mark.parametrize(
    "pattern",
    ["(", "a)", "a)(", "*", "[a[b]]", "[]a]", "[^]]", "(?=a)", "(?x)a #", "(?m:^a)", "a" * 6_000],
    ids=lambda pattern: pattern[:8],
)
def test_what_is_not_read_for_certain_counts_by_its_bytes(pattern: str) -> None:
    assert weighed({pattern: 6_400}) == {pattern: Reading((100,))}


def test_at_the_first_characters_it_is_at_few_places() -> None:
    assert [at_once(BUSY, length) for length in (1, 16, 1_000)] == [4, 19, 202]
    busy = weighed({BUSY: 65_536})[BUSY]
    assert busy.rates == (8, 10, 14, 22, 38, 70, 134, 262, 404)
    assert [busy.of(length) for length in (0, 1, 2, 4)] == [0, 8, 18, 46]
    assert weighed({"^a+$": 4_096}) == {"^a+$": Reading((6,))}


@given(st.integers(0, 5_000), st.sampled_from([r"^\S(.{0,253}\S)?$", BUSY, "^(a{1,3}){1,50}"]))
def test_a_part_never_passes_more_places_than_the_whole(length: int, pattern: str) -> None:
    read = weighed({pattern: 65_536})[pattern]
    assert read.of(length) <= read.of(length + 1) <= read.of(length) + read.a_byte
    assert read.of(length) <= read.a_byte * length


RATES = st.lists(st.integers(0, 1_000), min_size=1, max_size=8).map(sorted)
READINGS = st.lists(st.tuples(RATES.map(tuple).map(Reading), st.integers(0, 5)))


@given(READINGS, st.integers(0, 1_000))
def test_readings_together_cost_what_each_costs(readings: list[tuple[Reading, int]], length: int) -> None:
    assert together(readings).of(length) == sum(often * read.of(length) for read, often in readings)


@pytest.mark.parametrize(
    ("patterns", "rates"),
    [
        pytest.param(1, (8, 10, 14, 22, 38, 70, 134, 262, 404), id="few are, for many lengths"),
        pytest.param(1_000, (8, 10, 14, 22, 38, 404), id="of many, only the first bytes are told apart"),
        pytest.param(5_000, (404,), id="or none"),
        pytest.param(7_000, (64,), id="and too many are taken at the worst"),
    ],
)
def test_the_more_patterns_there_are_the_less_they_are_looked_into(
    patterns: int, rates: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0

    def counted(parts: Any, *length: int) -> int:
        nonlocal looked_at
        looked_at += len(parts)
        return states.states(parts, *length)

    monkeypatch.setattr(reading, "states", counted)
    sizes = {f"[{chr(0x4E00 + index)}01]*1[01]{{200}}": 4_096 for index in range(patterns)}
    assert {each.rates for each in weighed(sizes).values()} == {rates}
    assert looked_at <= MAX_LOOKED_AT
