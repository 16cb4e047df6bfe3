"""At how many places of a pattern a text can be, read off the pattern."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.schema.states import passed, states


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
        pytest.param("a|b|cc", 4, id="alternatives"),
        pytest.param(r"(?:a)(?P<n>b)(?<m>c)(?i:d)\b\x41\u{41}", 7, id="groups and escapes"),
    ],
)
def test_a_text_is_at_so_many_places_at_once(pattern: str, most: int) -> None:
    assert states(pattern) == most


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a)",
        "*",
        "[a[b]]",
        "[]a]",
        "[^]]",
        "(?=a)",
        "(?x)a #",
        "(?m:^a)",
        "(" * 900 + ")" * 900,
        "a" * 6_000,
    ],
    ids=lambda pattern: pattern[:8],
)
def test_what_is_not_read_for_certain_is_not_told(pattern: str) -> None:
    assert states(pattern) is None
    assert passed(pattern, 10) is None


def test_groups_in_groups_are_told_in_time() -> None:
    assert states("^" + "(" * 60 + "a" + ")?" * 60) is not None
    assert states("^" + "(?:" * 60 + "a{1,2}" + "){1,2}" * 60) is not None


def test_at_the_first_characters_it_is_at_few_places() -> None:
    busy = "[01]*1[01]{200}"
    assert [states(busy, length) for length in (1, 16, 1_000)] == [4, 19, 202]
    assert passed(busy, 0) == 0
    assert [passed(busy, length) for length in (1, 2, 4)] == [4, 9, 23]


@given(st.integers(0, 5_000), st.sampled_from([r"^\S(.{0,253}\S)?$", "[01]*1[01]{200}", "^(a{1,3}){1,50}"]))
def test_a_part_never_passes_more_places_than_the_whole(length: int, pattern: str) -> None:
    most, some, more = states(pattern), passed(pattern, length), passed(pattern, length + 1)
    assert most is not None
    assert some is not None
    assert more is not None
    assert some <= more <= some + most
    assert some <= most * length
