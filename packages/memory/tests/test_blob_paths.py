"""Names of files for parts of keys: no two parts meet, on whatever file system."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.ids import RunId, checked_identifier
from psych_runtime_core.ports.blob import BlobKey
from psych_runtime_memory.files.paths import LONGEST, folder_of, key_of, name_of, path_of

WIDE = "\N{GRINNING FACE}" * 256


def is_part(text: str) -> bool:
    try:
        BlobKey(text, RunId("run"), checked_identifier("call"))
    except ValueError:
        return False
    return True


PARTS = st.text("aAéÉ.~%4e1-_ ıİſK", min_size=1, max_size=8).filter(is_part)
LONG = st.tuples(PARTS, PARTS).map(lambda pair: pair[0] * 60 + pair[1]).filter(is_part)


def as_seen(name: str) -> str:
    """What a file system makes of a name that folds case and drops dots at the end."""
    return name.casefold().rstrip(". ")


@given(PARTS | LONG, PARTS | LONG)
def test_two_parts_have_one_name_only_when_they_are_equal(one: str, other: str) -> None:
    assert (as_seen(name_of(one)) == as_seen(name_of(other))) is (one == other)


def test_neighbours_never_meet() -> None:
    parts = [
        "A",
        "a",
        "a.",
        "a..",
        "..x",
        ".x",
        "..",
        ".",
        "a/b",
        "a\\b",
        "%41",
        "%2541",
        "41",
        "é",
        "e\N{COMBINING ACUTE ACCENT}",
        WIDE,
    ]
    parts += [WIDE[:-1], WIDE[:-1] + "x", "a" * 256, "a" * 255, "A" * 256, "con", "a b"]
    assert len({as_seen(name_of(part)) for part in parts}) == len(parts)


@given(PARTS | LONG | st.just(WIDE))
def test_a_name_is_short_and_plain(part: str) -> None:
    name = name_of(part)
    assert re.fullmatch(r"[a-z0-9_%-][a-z0-9_.%~-]*", name)
    assert len(name) <= LONGEST
    assert not name.endswith(".")


def test_a_cut_name_is_not_the_name_of_another_part() -> None:
    cut = name_of("a" * 256)
    assert "~" in cut
    assert name_of(cut) != cut
    assert name_of(cut.replace("~", "_")) != cut


@pytest.mark.parametrize(
    ("part", "name"),
    [
        pytest.param("acme-1_x", "acme-1_x", id="what may stay does"),
        pytest.param("A", "%41", id="capitals"),
        pytest.param("%41", "%2541", id="what looks escaped"),
        pytest.param("a.b.", "a.b%2e", id="a dot at the end"),
        pytest.param("..x", "%2e.x", id="a dot at the beginning"),
        pytest.param("é", "%c3%a9", id="bytes of UTF-8"),
        pytest.param("..", "%2e%2e", id="the folder above"),
        pytest.param("org/team", "org%2fteam", id="a slash"),
    ],
)
def test_a_part_is_spelled_as_it_always_was(part: str, name: str) -> None:
    assert name_of(part) == name


@given(PARTS | st.sampled_from(["..", "a/b", "é\\"]))
def test_a_path_tells_the_key_whose_names_were_not_cut(tenant: str) -> None:
    key = BlobKey(tenant, RunId("run_1"), "call.1")
    assert key_of(path_of(key)) == key
    cut = path_of(BlobKey(tenant, RunId("a" * 256), "call.1"))
    assert key_of(cut) is None
    assert key_of(("acme", "run_1", "%ff")) is key_of(("acme", "RUN", "x")) is None


def test_a_key_is_a_folder_in_a_folder_and_a_file() -> None:
    key = BlobKey("Acme", RunId("run_1"), "call.1")
    assert path_of(key) == ("%41cme", "run_1", "call.1")
    assert key_of(path_of(key)) == key
    assert folder_of("Acme", RunId("run_1")) == path_of(key)[:2]
    assert folder_of("Acme", None) == path_of(key)[:1]
    assert folder_of(None, None) == ()
