"""A secret is hidden in every usual spelling and in layers of them, whatever stands around it."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from packages.runtime.tests.effort import effort_of
from psych_runtime.secrets import spellings
from psych_runtime.secrets.masks import Masks
from psych_runtime.secrets.spellings import Spellings

Wire = Callable[[str], str]


def for_go(text: str) -> str:
    """What stands between the quotes of JSON as Go writes it."""
    return json.dumps(text)[1:-1].replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


WIRES: dict[str, Wire] = {
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON of UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON with escaped slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON for pages": for_go,
    "a URL": lambda text: quote(text, safe=""),
    "a path": quote,
    "a form": quote_plus,
    "a query": lambda text: urlencode({"k": text}).removeprefix("k="),
    "HTML": html.escape,
    "HTML without quotes": lambda text: html.escape(text, quote=False),
    "HTML by number": lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    "repr": lambda text: repr(text)[1:-1],
    "repr between others": lambda text: repr(f"{text}'\"").removesuffix("\\'\"'")[1:],
    "ascii": lambda text: ascii(text)[1:-1],
    "the repr of bytes": lambda text: repr(text.encode())[2:-1],
    "unicode_escape": lambda text: text.encode("unicode_escape").decode(),
    "backslashreplace": lambda text: text.encode("ascii", "backslashreplace").decode(),
}
EACH_WIRE = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)

# Among them what begins or ends a spelling, and what is one.
of_secrets = [*"\"'\\&<>;#%+/-41aeuxUltn0é«»ßÃ©€Ж😀 \t\n\x80", "%41", "%2525", "\\n", "\\u0041", "\\x41"]
of_secrets += ["\\\\", "&lt;", "&amp;lt;", "&#65;", "%c3%a9", "Ã©", "secret"]
marks = [*"\\%&;+ \n1naéÃ©😀", "\\u", "\\u00", "\\U0001", "\\x", "%4", "%c3", "&l", "&#6", "%25", "&amp;"]
marks += ["%2", "%%", "\\\\", "\\ud83d", "lt;", "p;", "u0041", "x41", "f600", "41", "54", "«»"]

secrets = st.lists(st.sampled_from(of_secrets), min_size=8, max_size=14).map("".join).map(str.strip)
layers = st.lists(st.sampled_from(sorted(WIRES)), max_size=3)
around = st.lists(st.sampled_from(marks), max_size=4).map("".join) | st.text(max_size=4)


@given(secrets.filter(lambda secret: len(secret) >= 8), layers, around, around)
@example("nothing&1234", ["HTML"], "\\", "")
@example("41abc&defg", ["HTML"], "%", "")
@example("<abc&def\\", ["HTML"], "", "u0041")
@example('abcd"efg%', ["JSON"], "", "41")
@example("u00e9abc<", ["HTML", "JSON"], "\\", "")
@example("0;55;&pa5", ["HTML"], "&#6", "")
@example("6;2% 2 l #", ["a form"], "%&#6", "")
@example("©abc\\é<Ã", ["HTML", "a URL"], "Ã", "©")
@example("ab😀€\\%%a\\", ["a URL", "HTML"], "", "\\u")
def test_a_secret_is_hidden_before_and_behind_any_text(
    secret: str, wires: list[str], before: str, behind: str
) -> None:
    spelled = secret
    for wire in wires:
        spelled = WIRES[wire](spelled)
    shown = Masks({secret: "k"}).text(before + spelled + behind)
    first, mask, _ = shown.partition("[secret:k]")
    *_, last = shown.rpartition("[secret:k]")
    assert mask
    assert spelled not in shown
    assert before.startswith(first)
    assert behind.endswith(last)


@given(secrets.filter(lambda secret: len(secret) >= 8), layers)
def test_plain_words_around_a_secret_stay_as_they_are(secret: str, wires: list[str]) -> None:
    spelled = secret
    for wire in wires:
        spelled = WIRES[wire](spelled)
    assert Masks({secret: "k"}).text(f"key={spelled} z") == "key=[secret:k] z"


@EACH_WIRE
@pytest.mark.parametrize("form", [WIRES["a form"], WIRES["a query"]], ids=["a form", "a query"])
@pytest.mark.parametrize("secret", ["pass word 1234", "pass+word & 1234", 'a "b" c\\d e'])
def test_a_blank_of_a_secret_is_a_plus_in_a_form(secret: str, form: Wire, wire: Wire) -> None:
    for spelled in (form(secret), wire(form(secret)), form(wire(secret)), wire(wire(form(secret)))):
        assert Masks({secret: "k"}).text(f"q={spelled}.") == "q=[secret:k]."


def test_a_plus_is_no_blank_for_a_secret_without_one() -> None:
    assert Masks({"pass+word+1234": "k"}).text("pass word 1234") == "pass word 1234"
    assert Masks({"pass+word+1234": "k"}).text("pass%2Bword%2b1234") == "[secret:k]"


@EACH_WIRE
def test_a_secret_of_several_lines_is_found_on_one(wire: Wire) -> None:
    secret = "-----BEGIN KEY-----\nMIIEvQ+/\t==\r\n-----END KEY-----"
    assert Masks({secret: "k"}).text(f"<{wire(wire(secret))}>") == "<[secret:k]>"


@EACH_WIRE
@pytest.mark.parametrize(
    "behind", ["n", '"', "\\", "u0041", "x41", "\\u0041", "U0001f600", "%41", "&lt;", " "]
)
def test_a_backslash_at_the_end_is_not_read_with_what_follows(wire: Wire, behind: str) -> None:
    secret = '<&"pass>\\'
    shown = Masks({secret: "k"}).text(f"a{html.escape(wire(secret))}{behind}")
    assert shown.startswith("a[secret:k]")
    assert "pass" not in shown


@given(st.lists(st.sampled_from(marks + of_secrets)).map("".join) | st.text(), secrets)
def test_a_text_that_does_not_say_the_secret_is_left_alone(text: str, secret: str) -> None:
    masks = Masks({f"щ{secret}щщщщщщщ": "k", "щ{secret} щ😀ъъъъъъ": "k"})
    assert masks.text(text) == text


# --- what it costs -----------------------------------------------------------------------------------------


def letters(number: int) -> str:
    """Four letters that no other small number has."""
    return "".join(chr(ord("a") + number // 26**place % 26) for place in range(4))


HOSTILE: dict[str, Callable[[int], str]] = {
    "entities that there are not": lambda size: "".join(f"&q{letters(at)};" for at in range(size)),
    "the same, and one spelling in layers": lambda size: (
        "".join(f"&q{letters(at)};" for at in range(size)) + "%252525252541"
    ),
    "backslashes": lambda size: "\\" * (6 * size),
    "backslashes, and one escape": lambda size: "\\" * (6 * size) + "u0041%2541",
    "escapes of lines": lambda size: "\\n" * (3 * size),
    "percents": lambda size: "%25" * (2 * size) + "41",
    "a percent in as many layers": lambda size: "%" + "25" * (3 * size) + "41",
    "ampersands in as many layers": lambda size: "&" + "amp;" * (2 * size),
    "a character put together again and again": lambda size: "Ã" + "\x83" * (6 * size),
    "what the secret begins with": lambda size: "%4" + "4a" * (3 * size),
    "all of the secret but its end": lambda size: "4a1<é\\" * size,
    "the secret": lambda size: html.escape("4a1<é\\%&key") * (size // 2),
}
COSTLY = ["sk-abcdef0123456789", "a%5Cu0041bcd%25xyz", "4a1<é\\%&key", "<key é\\u"]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("secret", COSTLY)
def test_ten_times_the_text_is_ten_times_the_work(text: Callable[[int], str], secret: str) -> None:
    def cost(size: int) -> int:
        told = text(size)
        return effort_of(lambda: Spellings({secret: "***"}).replaced(told))

    assert cost(2_000) <= 10 * 1.1 * cost(200)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("secret", COSTLY)
def test_no_hostile_text_takes_long(text: Callable[[int], str], secret: str) -> None:
    told = text(50_000)
    masks = Masks({secret: "k"})
    begun = time.process_time()
    masks.text(told)
    assert time.process_time() - begun < 6 * len(told) / 500_000


@pytest.mark.parametrize("at", [-40, -20, -19, -2, -1, 0, 1, 40])
def test_a_secret_is_found_where_two_blocks_meet(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    monkeypatch.setattr(spellings, "_BLOCK", 1_000)
    secret = '%<key "1234\\'
    for spelled in (secret, html.escape(secret), quote(json.dumps(secret)[1:-1], safe="")):
        text = "." * (2_000 + at) + spelled
        assert Masks({secret: "k"}).text(text * 3) == f"{'.' * (2_000 + at)}[secret:k]" * 3


# --- pieces ------------------------------------------------------------------------------------------------


@EACH_WIRE
@pytest.mark.parametrize("at", [20, 60, 80, 90, 98, 99, 100, 101])
def test_no_part_of_a_secret_is_left_where_a_text_was_cut(wire: Wire, at: int) -> None:
    secret = '<é"SECRETSECRET\\😀'
    masks = Masks({secret: "k"})
    spelled = wire(secret)
    begun, ended = "." * at + spelled + "." * 5_000, "." * 5_000 + spelled + "." * at
    mask = "[secret:k]" if at < 100 else ""
    assert masks.beginning(begun, 100) == "." * min(at, 100) + mask + "." * (100 - at - len(spelled))
    assert masks.ending(ended, 100) == "." * (100 - at - len(spelled)) + mask + "." * min(at, 100)


def test_without_a_secret_a_piece_is_as_long_as_was_asked_for() -> None:
    masks = Masks({})
    assert masks.beginning("abcdef", 4) == "abcd"
    assert masks.ending("abcdef", 4) == "cdef"
    assert masks.beginning("abc", 4) == masks.ending("abc", 4) == "abc"
