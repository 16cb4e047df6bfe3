"""What an Attempt keeps of what it fetched has a bound, and what was used last stays."""

from __future__ import annotations

from psych_runtime.attempt.last_used import LastUsed


def test_what_was_not_used_for_longest_goes_first() -> None:
    kept = LastUsed(10)
    kept.put("a", 1, 4)
    kept.put("b", 2, 4)
    assert kept.get("a") == 1
    kept.put("c", 3, 4)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]


def test_a_value_in_the_place_of_another_counts_alone() -> None:
    kept = LastUsed(10)
    kept.put("a", 1, 4)
    kept.put("b", 2, 9)
    assert (kept.get("a"), kept.get("b")) == (None, 2)
    kept.put("b", 3, 5)
    kept.put("a", 4, 5)
    assert (kept.get("a"), kept.get("b")) == (4, 3)


def test_what_is_larger_than_all_is_not_kept_and_what_fills_it_is() -> None:
    kept = LastUsed(10)
    kept.put("a", 1, 11)
    assert kept.get("a") is None
    kept.put("b", 2, 10)
    assert kept.get("b") == 2
    kept.put("a", 3, 11)
    assert (kept.get("a"), kept.get("b")) == (None, 2), "it took the place of none"
    kept.put("b", 4, 11)
    assert kept.get("b") is None, "and what it follows is out of date"


def test_no_value_takes_no_room() -> None:
    kept = LastUsed(0)
    kept.put("a", b"", 0)
    assert kept.get("a") == b""
