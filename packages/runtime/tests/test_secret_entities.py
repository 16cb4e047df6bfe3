"""Entities of HTML are read as a page is."""

from __future__ import annotations

import html
import re
from html.entities import html5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.secrets.entities import ENDS, ENTITY, read

NAMES = sorted({name.rstrip(";") for name in html5})
OLD = [name for name in html5 if not name.endswith(";")]
PARTS = st.sampled_from(["&", ";", "#", "x", "4", "1", "q", *NAMES[::20], *OLD])


def text_of(page: str) -> str:
    return re.sub(ENTITY, lambda found: read(found[0]), page, flags=re.VERBOSE)


@pytest.mark.parametrize("behind", ["", ";", "q", "q;", "in;", "1", " ;"])
def test_each_name_is_read_as_a_page_is(behind: str) -> None:
    pages = [f"&{name}{behind}" for name in NAMES]
    assert [text_of(page) for page in pages] == [html.unescape(page) for page in pages]


@given(st.lists(PARTS).map("".join))
def test_any_names_in_a_row_are(names: str) -> None:
    page = names.replace("&#", "&")
    assert text_of(page) == html.unescape(page)


@pytest.mark.parametrize(
    ("entity", "character"),
    [("&#65;", "A"), ("&#65", "A"), ("&#x41;", "A"), ("&#X041", "A"), ("&#x110000;", "&#x110000;")],
)
def test_a_number_is_a_character_if_there_is_one(entity: str, character: str) -> None:
    assert text_of(entity) == character


def test_the_ends_of_old_names_are_known() -> None:
    assert all(re.fullmatch(ENDS, name[at:]) for name in OLD for at in range(len(name)))
