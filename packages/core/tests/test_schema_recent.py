"""What is kept of judges: the last ones used, while there is room."""

from __future__ import annotations

from typing import Any

import pytest

from psych_runtime_core.schema import judge, violations
from psych_runtime_core.schema.recent import Held, Recent


def recent(*weights: int, most: int = 3, heaviest: int = 10) -> Recent[int]:
    found: Recent[int] = Recent(most, heaviest)
    for key, weight in enumerate(weights):
        found.put(bytes([key]), Held(key, weight))
    return found


@pytest.mark.parametrize(
    ("weights", "left"),
    [
        pytest.param((1, 1, 1), [0, 1, 2], id="all, while there is room"),
        pytest.param((1, 1, 1, 1), [1, 2, 3], id="not more than so many"),
        pytest.param((4, 4, 4), [1, 2], id="not more than so much"),
        pytest.param((1, 1, 9), [1, 2], id="the first ones go first"),
        pytest.param((1, 1, 10), [2], id="as many of them as it takes"),
        pytest.param((1, 1, 11), [], id="what is too heavy is not kept"),
    ],
)
def test_the_last_ones_are_kept(weights: tuple[int, ...], left: list[int]) -> None:
    found = recent(*weights)
    assert len(found) == len(left)
    assert [key for key in range(len(weights)) if found.get(bytes([key])) is not None] == left


def test_what_is_used_is_not_the_first_to_go() -> None:
    found = recent(1, 1, 1)
    assert found.get(b"\0") == Held(0, 1)
    found.put(b"x", Held(7, 1))
    assert found.get(b"\0") == Held(0, 1)
    assert found.get(b"\1") is None


def test_what_is_put_again_weighs_once() -> None:
    found = recent(4, 4)
    for _ in range(5):
        found.put(b"\1", Held(5, 6))
    assert (found.get(b"\0"), found.get(b"\1")) == (Held(0, 4), Held(5, 6))


def test_judges_are_kept_by_what_they_weigh(monkeypatch: pytest.MonkeyPatch) -> None:
    light, heavy = {"minLength": 3}, {"pattern": "[01]{2000}"}
    for schema, kept_ones in ((light, 1), (heavy, 0)):
        judges: Recent[Any] = Recent(10, 100_000)
        monkeypatch.setattr(judge, "_JUDGES", judges)
        assert violations("x", schema)
        assert len(judges) == kept_ones
