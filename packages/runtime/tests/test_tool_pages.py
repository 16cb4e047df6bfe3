"""What was kept, as lines: how it is laid out, paged through and searched."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.tools.lines import is_text, lines_of
from psych_runtime.tools.pages import LINE_SHOWN, PAGE_SHOWN, Page, ShownLine, Window, page_of
from psych_runtime_core.jsonvalue import encode_json


async def laid_out(data: bytes, content_type: str = "application/json") -> list[str] | None:
    lines = await lines_of(data, content_type)
    return None if lines is None else list(lines)


async def paged(text: str, offset: int = 0, limit: int = 200, pattern: str | None = None) -> Page:
    lines = await lines_of(text.encode(), "text/plain")
    assert lines is not None
    return await page_of(lines, Window(offset, limit, pattern))


def numbers(page: Page) -> list[int]:
    return [line.number for line in page.lines]


# --- lines -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "content_type", "lines"),
    [
        pytest.param(b"a\nb", "text/plain", ["a", "b"], id="a text as it is"),
        pytest.param(b"a\n\nb\n", "text/csv", ["a", "", "b"], id="its last line break ends a line"),
        pytest.param(b"", "text/plain", [], id="an empty one has none"),
        pytest.param("a\u2028b\x0bc\r\n".encode(), "text/plain", ["a\u2028b\x0bc\r"], id="only \\n breaks"),
        pytest.param(b'"a\\nb"', "application/json", ["a", "b"], id="a text in JSON is that text"),
        pytest.param(b"7", "application/json", ["7"], id="a scalar"),
        pytest.param(b"[]", "application/json", ["[]"], id="an empty list"),
        pytest.param(
            b'{"b":[1,{}],"a":"x"}',
            "application/problem+json",
            [
                "{",
                '  "a": "x",',
                '  "b": [',
                "    1,",
                "    {}",
                "  ]",
                "}",
            ],
            id="JSON, indented and sorted",
        ),
        pytest.param(
            b'["\\ud800","\\u00fc"]',
            "application/json",
            ["[", '  "\ud800",', '  "ü"', "]"],
            id="no escapes but those that must be",
        ),
        pytest.param(b"{no", "application/json", ["{no"], id="what is only called JSON is text"),
        pytest.param(b"[" * 500 + b"]" * 500, "application/json", ["[" * 500 + "]" * 500], id="too deep"),
        pytest.param(b"\x89PNG", "image/png", None, id="a picture is no text"),
        pytest.param(b"\xff", "application/json", None, id="whatever it is called"),
        pytest.param(b"a\0b", "text/plain", None, id="nor is what holds NUL"),
        pytest.param("naïve".encode("latin-1"), "text/plain", None, id="nor another charset"),
    ],
)
async def test_bytes_have_lines(data: bytes, content_type: str, lines: list[str] | None) -> None:
    assert await laid_out(data, content_type) == lines
    assert is_text(data) is (lines is not None)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=30,
)


@given(VALUES)
async def test_json_is_laid_out_as_the_library_does(value: Any) -> None:
    if isinstance(value, str):
        return
    expected = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    assert await laid_out(encode_json(value)) == expected.split("\n")


async def test_a_deep_document_takes_no_room_for_its_blanks() -> None:
    depth, wide = 126, 20_000
    data = b"[" * depth + b",".join([b"[]"] * wide) + b"]" * depth
    lines = await lines_of(data, "application/json")
    assert lines is not None
    assert len(lines) == wide + 2 * depth
    assert lines[depth] == " " * 252 + "[],"
    assert len(lines.text) < 2 * len(data)


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        pytest.param(b"[" + b",".join([b"1"] * 100_000) + b"]", "application/json", id="many parts"),
        pytest.param(b"1\n" * 100_000, "text/plain", id="many lines"),
        pytest.param("\N{GRINNING FACE}".encode() * 50_000, "text/plain", id="wide characters"),
    ],
)
async def test_lines_say_what_they_take_and_it_is_no_object_each(data: bytes, content_type: str) -> None:
    tracemalloc.start()
    try:
        lines = await lines_of(data, content_type)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert lines is not None
    assert taken == pytest.approx(lines.held_bytes, rel=0.05)
    assert lines.held_bytes < 10 * len(data)


# --- pages -----------------------------------------------------------------------------------------------

TEN = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.mark.parametrize(
    ("offset", "limit", "expected", "truncated"),
    [
        pytest.param(0, 200, list(range(1, 11)), False, id="all"),
        pytest.param(0, 3, [1, 2, 3], True, id="the first"),
        pytest.param(7, 3, [8, 9, 10], False, id="the last"),
        pytest.param(10, 3, [], False, id="behind the end"),
        pytest.param(10**30, 1_000, [], False, id="far behind it"),
    ],
)
async def test_a_window_is_of_lines(offset: int, limit: int, expected: list[int], truncated: bool) -> None:
    page = await paged(TEN, offset, limit)
    assert (numbers(page), page.matches, page.truncated) == (expected, None, truncated)
    assert [line.text for line in page.lines] == [f"line {number}" for number in expected]


async def test_a_long_line_is_cut_and_an_answer_has_an_end() -> None:
    page = await paged("\n".join(["x" * 3_000] * 10))
    assert page.truncated
    assert 0 < sum(len(line.text) + 1 for line in page.lines) <= PAGE_SHOWN
    assert {line.text for line in page.lines} == {"x" * LINE_SHOWN}
    rest = await paged("\n".join(["x" * 3_000] * 10), offset=len(page.lines))
    assert numbers(rest)[0] == len(page.lines) + 1
    assert numbers(await paged("x" * 50_000)) == [1]


async def test_an_answer_holds_its_whole_measure() -> None:
    page = await paged("\n".join(["x" * 99] * 101))
    assert numbers(page) == list(range(1, 101))
    assert page.truncated


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("b", [2, 3, 4], id="no capital, so capitals do not matter"),
        pytest.param("B", [3, 4], id="a capital, so they do"),
        pytest.param("b.", [4], id="a dot is a dot"),
        pytest.param("(a+)+$", [5], id="nothing is an expression"),
        pytest.param("zz", [], id="nowhere"),
        pytest.param("a\nb", [], id="no text goes over a line"),
    ],
)
async def test_a_pattern_is_plain_text(pattern: str, expected: list[int]) -> None:
    page = await paged("a\nb\nB\nB.\n((a+)+$)", pattern=pattern)
    assert (numbers(page), page.matches) == (expected, len(expected))


async def test_with_a_pattern_the_window_is_of_matches() -> None:
    page = await paged(TEN * 5, offset=2, limit=2, pattern="line 1")
    assert (numbers(page), page.matches, page.truncated) == ([11, 20], 10, True)
    assert numbers(await paged(TEN, offset=9, pattern="line")) == [10]
    assert numbers(await paged(TEN, offset=10, pattern="line")) == []


@pytest.mark.parametrize("place", [0, 1_990, 5_000, 9_996])
async def test_what_was_looked_for_is_seen_in_a_line_of_any_length(place: int) -> None:
    line = "x" * place + "nail" + "x" * (9_996 - place)
    page = await paged(line, pattern="nail")
    (shown,) = page.lines
    assert "nail" in shown.text
    assert len(shown.text) <= LINE_SHOWN
    assert shown == ShownLine(1, shown.text, True)


@pytest.mark.parametrize("line", [60, 2_400, 200_000])
async def test_a_search_is_linear_work_whatever_its_pattern_says(line: int) -> None:
    text = "\n".join(["a" * line] * (2_000_000 // line))
    lines = await lines_of(text.encode(), "text/plain")
    assert lines is not None
    plain, hostile = [await _seconds(lines, pattern) for pattern in ("b", "(a+)+$" + "(a*)*" * 100)]
    assert hostile < 50 * plain + 0.5


async def _seconds(lines: Any, pattern: str) -> float:
    began = time.process_time()
    assert (await page_of(lines, Window(0, 10, pattern))).matches == 0
    return time.process_time() - began
