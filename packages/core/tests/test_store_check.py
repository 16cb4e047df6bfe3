"""What a store says of its health is said in the words that everybody knows."""

from dataclasses import replace
from typing import Any

import pytest

from psych_runtime_core.ports.reports import StoreCheck

WELL = StoreCheck("far", "1", "current", True, "majority", 0.0, 0.001)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        pytest.param({"schema": "fine"}, "current, pending, newer, none; not 'fine'", id="a schema"),
        pytest.param({"durability": " "}, "durability says", id="no durability"),
        pytest.param({"warnings": ("appendonly is no",)}, "not 'appendonly is no'", id="no topic"),
        pytest.param({"warnings": ("disk: full",)}, "open, schema, durability, .*'disk: full'", id="a topic"),
        pytest.param({"warnings": ("library:too old",)}, "'library:too old'", id="no blank"),
        pytest.param({"warnings": ("library: ",)}, "'library: '", id="nothing said"),
        pytest.param({"warnings": ("library: too old", "clock")}, "'clock'", id="any of them"),
    ],
)
def test_other_words_are_refused(told: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(WELL, **told)


def test_warnings_are_found_by_their_topic() -> None:
    check = replace(WELL, warnings=("library: too old: 3.46", "durability: weak", "library: no JSON"))
    assert check.about("library") == ("too old: 3.46", "no JSON")
    assert check.about("durability") == ("weak",)
    assert check.about("open") == ()
