"""The fenced blocks of a text: which there are, and that finding them takes no longer than reading it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.engine import fenced
from psych_runtime_core.engine.fenced import blocks, lines_of


def blocks_of(text: str) -> list[str]:
    return list(blocks(lines_of(text)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("no block", [], id="none"),
        pytest.param("```\na\nb\n```", ["a\nb"], id="one"),
        pytest.param("```json\na\n```", ["a"], id="a language"),
        pytest.param("so:\n```\na\n```\ndone", ["a"], id="in prose"),
        pytest.param("so:\r\n```\r\na\r\nb\r\n```\r\ndone", ["a\nb"], id="lines that end in CRLF"),
        pytest.param("```\ra\r```", ["a"], id="lines that end in CR"),
        pytest.param("~~~json\na\n~~~", ["a"], id="tildes"),
        pytest.param("~~~ ```\na\n~~~", ["a"], id="backticks behind tildes"),
        pytest.param("````\na\n````", ["a"], id="four backticks"),
        pytest.param("```\na\n`````", ["a"], id="a longer end"),
        pytest.param("````\n```\na\n```\n````", ["```\na\n```"], id="a block in a block"),
        pytest.param("```\n~~~\na\n```", ["~~~\na"], id="another mark in a block"),
        pytest.param("  ```\na\n\t``` ", ["a"], id="blanks around the marks"),
        pytest.param("```\n```", [""], id="an empty one"),
        pytest.param("```\na\n```\n```\nb\n```", ["a", "b"], id="two"),
        pytest.param("```\na", [], id="one without an end"),
        pytest.param("~~~ hi ~~~\n```\na\n```", ["a"], id="an ornament"),
        pytest.param("~~~~~\n```\na\n```\n~~~", ["a"], id="an ornament that a shorter one does not close"),
        pytest.param("```\na\n```\n```x\n~~~\nb\n~~~", ["a", "b"], id="one without an end between others"),
        pytest.param("```a```\nb\n```", [], id="code in a line, and a block without an end"),
        pytest.param("so: ```\na\n```", [], id="a mark behind a word, and a block without an end"),
        pytest.param("``\na\n``", [], id="two backticks"),
        pytest.param("```\na\n``` b", [], id="an end with a word"),
    ],
)
def test_a_text_has_these_blocks(text: str, found: list[str]) -> None:
    assert blocks_of(text) == found


FENCES = st.sampled_from([mark * length for mark in "`~" for length in range(3, 7)])
LINES = st.text('ab{}:"1 `~', max_size=8)


@given(
    fence=FENCES,
    info=st.sampled_from(["", "json", " JSON"]),
    lines=st.lists(LINES, max_size=4),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    around=st.sampled_from(["", "words"]),
)
def test_what_is_fenced_is_found_by_any_fence(
    fence: str, info: str, lines: list[str], end: str, around: str
) -> None:
    held = [line for line in lines if not line.strip().startswith(fence)]
    text = end.join([around, fence + info, *held, fence, around])
    assert blocks_of(text) == ["\n".join(held)]


HOSTILE = [
    pytest.param("```x", id="blocks that begin"),
    pytest.param("~~~", id="blocks that begin and end"),
    pytest.param("```x\n````", id="ends that are longer"),
    pytest.param("   ` ` `", id="blanks and marks"),
]


@pytest.mark.parametrize("line", HOSTILE)
def test_each_line_is_looked_at_once_and_never_again(line: str) -> None:
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for each in lines_of(f"{line}\n" * 1_000):
            taken += 1
            yield each

    list(blocks(lines()))
    assert taken == len(lines_of(f"{line}\n" * 1_000))


def test_no_line_is_read_beyond_the_blocks_that_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    fence = fenced._Fence  # pyright: ignore[reportPrivateUsage] - nothing else tells how far was read

    def counted(at: int, mark: str, length: int, info: str) -> object:
        read.append(at)
        return fence(at, mark, length, info)

    monkeypatch.setattr(fenced, "_Fence", counted)
    assert list(islice(blocks(lines_of("```\n" * 1_000)), 2)) == ["", ""]
    assert len(read) == 5


@pytest.mark.parametrize("line", HOSTILE)
def test_no_block_holds_what_another_holds(line: str) -> None:
    text = f"{line}\n" * 1_000
    assert sum(map(len, blocks_of(text))) <= len(text)
