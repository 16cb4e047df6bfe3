"""What may reach a terminal, and in which colours."""

import io
import json
import unicodedata
from contextlib import redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.cli.output import (
    LONGEST_TEXT_BYTES,
    Output,
    Row,
    clipped,
    coloured,
    one_line,
    visible,
    without_passwords,
)

BIDI = {*"\u061c\u200e\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
# Any text, with those that act made likely.
TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from(sorted({*"\x1b\r\n\t\x7f\x9b\u2028\ud800", *BIDI})))
)


def acts(character: str) -> bool:
    """Whether a terminal would do more with it than show it."""
    return character in BIDI or unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}


@given(TEXTS)
def test_no_text_that_is_shown_acts_on_the_terminal(text: str) -> None:
    assert not [character for character in visible(text) if acts(character) and character != "\n"]
    assert not [character for character in one_line(text) if acts(character)]


@given(TEXTS)
def test_a_text_without_anything_that_acts_is_shown_as_it_is(text: str) -> None:
    harmless = "".join(character for character in text if not acts(character))
    assert visible(harmless) == harmless


@given(TEXTS)
def test_json_is_ascii_and_says_the_same(text: str) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        Output(json=True).document("psych.test/1", {"text": text})
    (line,) = printed.getvalue().splitlines()
    assert not [character for character in line if acts(character) or not character.isascii()]
    assert json.loads(line) == {"schema": "psych.test/1", "text": text}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\rb\tc", "a\\rb\\tc"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud83d", "\\ud83d"),
        ("two\nlines", "two\nlines"),
        ("naïve 日本 👩‍🚀", "naïve 日本 👩‍🚀"),
    ],
)
def test_what_acts_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_every_line_of_a_text_keeps_to_its_column(capsys: pytest.CaptureFixture[str]) -> None:
    Output().rows([Row("user", "first\nstate       done")], rest="", indent="  ")
    assert capsys.readouterr().out == "  user        first\n              state       done\n"


def test_a_text_of_8_kib_is_whole_and_a_longer_one_is_cut() -> None:
    assert clipped("x" * LONGEST_TEXT_BYTES, "psych show R --json") == "x" * LONGEST_TEXT_BYTES
    cut = clipped("x" * (LONGEST_TEXT_BYTES + 7), "psych show R --json")
    assert cut == "x" * LONGEST_TEXT_BYTES + "\n… 7 bytes more: psych show R --json"


def test_no_character_is_cut_in_half() -> None:
    assert clipped("é" * LONGEST_TEXT_BYTES, "").startswith("é" * (LONGEST_TEXT_BYTES // 2) + "\n")
    assert clipped("x" + "é" * LONGEST_TEXT_BYTES, "").startswith(
        "x" + "é" * (LONGEST_TEXT_BYTES // 2 - 1) + "\n"
    )


@pytest.mark.parametrize(
    ("environment", "forbidden", "terminal", "on"),
    [
        pytest.param({}, False, True, True, id="a terminal"),
        pytest.param({}, False, False, False, id="a pipe"),
        pytest.param({}, True, True, False, id="--no-color"),
        pytest.param({"NO_COLOR": "1"}, False, True, False, id="NO_COLOR"),
        pytest.param({"NO_COLOR": ""}, False, True, True, id="NO_COLOR, empty"),
        pytest.param({"TERM": "dumb"}, False, True, False, id="TERM=dumb"),
        pytest.param({"FORCE_COLOR": "1"}, False, False, True, id="FORCE_COLOR into a pipe"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True, False, id="NO_COLOR wins"),
        pytest.param({"FORCE_COLOR": "1"}, True, True, False, id="--no-color wins"),
    ],
)
def test_when_there_are_colours(
    environment: dict[str, str], forbidden: bool, terminal: bool, on: bool
) -> None:
    assert coloured(environment, forbidden=forbidden, terminal=terminal) is on


def test_only_state_words_are_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(colour=True)
    output.rows([Row("state", "", "failed"), Row("user", "failed"), Row("result", "ok", "ok")], rest="")
    assert capsys.readouterr().out.splitlines() == [
        "state       \x1b[31mfailed\x1b[0m",
        "user        failed",
        "result      \x1b[32mok\x1b[0m ok",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no store at postgres://ada:s3c@ret@host/db today", "no store at postgres://ada:***@host/db today"),
        ("redis://:s3cret@host", "redis://:***@host"),
        ("a://h/d?sslmode=x&password=s3cret&y=1", "a://h/d?sslmode=x&password=***&y=1"),
        ("sqlite:///runs.db and ada@example.com", "sqlite:///runs.db and ada@example.com"),
    ],
)
def test_no_password_of_a_url_is_shown(text: str, shown: str) -> None:
    assert without_passwords(text) == shown
