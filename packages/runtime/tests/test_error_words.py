"""A provider's words as they are shown: whole, readable, and without a secret."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.model.errors.replies import CallErrors, error_of_reply, in_band_error
from psych_runtime.model.errors.words import cleaned, excerpt, size_to_read
from psych_runtime_core.errors import ModelError, ModelErrorKind

KEY = 'sk-proj-aB3/xY+9=="é'
ERRORS = CallErrors(provider="openai", model="gpt-5", secrets=(KEY,))


def refused(body: object, status: int = 400) -> ModelError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return error_of_reply(status, {}, raw, ERRORS)


WORDS: dict[str, tuple[object, str]] = {
    "the error's message": ({"error": {"message": "one"}, "message": "two", "detail": "three"}, "one"),
    "the error as text": ({"error": "one", "message": "two"}, "one"),
    "the message": ({"message": "one", "detail": "two"}, "one"),
    "the detail": ({"detail": "one", "title": "two"}, "one"),
    "the details": ({"detail": [{"msg": "one"}, {"msg": "two"}, {"loc": []}, 3], "title": "x"}, "one; two"),
    "the title": ({"title": "one", "type": "about:blank"}, "one"),
    "the body as JSON": ({"reason": "one"}, '{"reason": "one"}'),
    "the body as text": (b"one and\n\ttwo", "one and two"),
    "the body as a page": (b"<!doctype html><title>One</title><p>two &amp; three</p>", "One two & three"),
    "a page's code is not read": (b"<script>one()</script><style>a{}</style><!-- b --><i>two</i>", "two"),
    "JSON cut short": (b'{"error": {"message": "on', '{"error": {"message": "on'),
    "a router's and the words behind it": (
        {"error": {"message": "Provider returned error", "metadata": {"raw": "one"}}},
        "Provider returned error: one",
    ),
    "markup in the message": ({"error": {"message": "<b>one</b><br/>two <x y='z'>three"}}, "one two three"),
    "markup that was hidden": (b"<p>one &lt;script&gt;two", "one two"),
    "no markup": ({"error": {"message": "1 < 2 and 3 > 2"}}, "1 < 2 and 3 > 2"),
    "control characters": ({"error": {"message": "o\x00n\x07e\x1b[31m\r\ntwo\u202e\x9b"}}, "one two"),
    "half a character": (b'{"error": {"message": "one \\ud800"}}', "one \ufffd"),
    "blanks alone": ({"error": {"message": " \n"}, "message": "one"}, "one"),
    "no text in its place": ({"error": {"message": {"deep": 1}}, "title": "one"}, "one"),
    "no body": (b"", "The provider answered 400 Bad Request and said nothing."),
    "no text at all": (bytes(range(128, 256)), "The provider answered 400 Bad Request and said nothing."),
}


@pytest.mark.parametrize(("body", "words"), WORDS.values(), ids=WORDS)
def test_a_message_begins_with_the_providers_own_words(body: object, words: str) -> None:
    assert refused(body).message.startswith(f"{words} (openai, gpt-5, HTTP 400) ")


def test_a_message_ends_with_what_to_do() -> None:
    assert refused({"error": {"message": "no"}}, 401).message.endswith(
        "Check the key that openai is sent, and that it may use this model."
    )
    assert "Asking again can help" in refused(b"", 503).message
    assert "larger context window" in refused(b"prompt is too long").message


def test_a_long_message_is_cut_and_still_says_what_to_do() -> None:
    message = refused({"error": {"message": "word " * 10_000}}).message
    assert len(message) == 8_192
    assert message.startswith("word word")
    assert "… [truncated] (openai" in message
    assert message.endswith("change it.")


def test_a_large_page_becomes_a_short_message() -> None:
    page = (
        b"<html><head><style>" + b"a{}" * 5_000 + b"</style></head><body><h1>Down</h1>" + b"<p>x</p>" * 10_000
    )
    found = refused(page, 503)
    assert found.kind is ModelErrorKind.TRANSIENT
    assert found.message.startswith("Down x x")
    assert len(found.message) < 300


def test_an_error_of_ones_own_says_what_to_do_by_its_code_and_else_by_its_kind() -> None:
    found = ERRORS.of_ours(ModelErrorKind.PERMANENT, f"It is too large, {KEY}.", code="answer_too_large")
    assert (found.provider, found.model, found.status) == ("openai", "gpt-5", None)
    assert found.message == "It is too large, ***. (openai, gpt-5) Ask for less at a time."
    assert ERRORS.of_ours(ModelErrorKind.TRANSIENT, "x", code="idle").message.endswith(
        "Asking again can help."
    )


# --- a credential that is echoed -------------------------------------------------------------------------

ECHOES: dict[str, object] = {
    "in the message": {"error": {"message": f"Incorrect API key provided: {KEY}."}},
    "in an error that is text": {"error": KEY},
    "in the code and the type": {"error": {"message": "no", "code": KEY, "type": KEY}},
    "in the id": {"error": {"message": "no"}, "request_id": KEY},
    "in a body that nobody expects": {"headers": {"authorization": f"Bearer {KEY}"}},
    "in a text": f"Bearer {KEY} is wrong".encode(),
    "in a page": f"<p>{KEY}</p>".encode(),
    "in a URL": f"/v1?key={quote(KEY, safe='')}".encode(),
    "in a path": f"/v1/{quote(KEY)}".encode(),
    "in JSON that was cut": json.dumps({"key": KEY})[:-1].encode(),
    "in pieces that markup parts": {"error": {"message": f"{KEY[:5]}\x00{KEY[5:]}"}},
    "at the cut": {"error": {"message": "x" * (8_192 - 60) + KEY * 3}},
    "far off": {"error": {"message": "x" * 65_530 + KEY}},
}


@pytest.mark.parametrize("body", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("status", [401, 200, 302])
def test_an_echoed_credential_is_nowhere_in_an_error(body: object, status: int) -> None:
    chunk = body.decode() if isinstance(body, bytes) else body
    for found in (refused(body, status), in_band_error(chunk, ERRORS, event="error")):
        assert found is not None
        told = f"{found!r} {vars(found)}"
        assert not [
            form for form in (KEY, quote(KEY, safe=""), json.dumps(KEY)[1:-1], KEY[:12]) if form in told
        ]


def test_a_credential_that_begins_with_another_is_masked_whole() -> None:
    assert cleaned(f"{KEY} and sk-proj", ("sk-proj", KEY)) == "*** and ***"


def test_a_credential_that_cleaning_puts_together_is_masked() -> None:
    assert cleaned(f"key: {KEY[:5]}\x00{KEY[5:]}", (KEY,)) == "key: ***"


LONG_SPELLINGS: dict[str, tuple[str, str]] = {
    "as it is": ("~", "~"),
    "as bytes": ("€", "€"),
    "in JSON": ("😀", "\\ud83d\\ude00"),
    "in JSON in a URL": ("😀", "%5Cud83d%5Cude00"),
    "in a URL, each character of JSON": ("~", "%5C%75%30%30%37%65"),
    "in a URL in a URL": ("😀", "%25F0%259F%2598%2580"),
    "in HTML, by number": ("~", "&#x0000007E;"),
    "in HTML": ("|", "&VerticalLine;"),
    "in HTML in a URL": ("`", "%26DiacriticalGrave%3B"),
    "in HTML, the longest": ("∳", "&CounterClockwiseContourIntegral;"),
}


@pytest.mark.parametrize(("char", "spelled"), LONG_SPELLINGS.values(), ids=LONG_SPELLINGS)
@pytest.mark.parametrize("beyond", [1, 2, 21], ids="{} bytes stand beyond".format)
@pytest.mark.parametrize(
    "size", [lambda _: 65_536, lambda secret: size_to_read([secret])], ids=["shown", "read"]
)
@pytest.mark.parametrize("hidden", ["<i>", "<!--é-->"])
def test_no_piece_of_a_credential_is_left_where_a_long_error_is_cut(
    char: str, spelled: str, beyond: int, size: Callable[[str], int], hidden: str
) -> None:
    """All before it is markup, which is not shown."""
    secret, told = char * 40, spelled * 40
    errors = CallErrors(provider="p", model="m", secrets=(secret,))
    begins = size(secret) - len(told.encode()) + beyond
    text = (hidden * begins).encode()[:begins].decode("utf-8", "ignore") + told
    shown = cleaned(text, (secret,)), error_of_reply(500, {}, text.encode(), errors).message
    assert not [words for words in shown if spelled in words or char * 2 in words]


def test_a_credential_is_not_in_a_repr_and_an_empty_one_masks_nothing() -> None:
    assert KEY not in repr(ERRORS)
    assert cleaned("as it is", ("",)) == "as it is"


texts = st.text(st.sampled_from("ab<>/!- \n\x00\x1b[m;&#\u202e\ud800") | st.characters(), max_size=200)


@given(texts, st.text(min_size=1, max_size=6))
def test_no_text_keeps_a_secret_a_control_character_or_half_a_character(text: str, secret: str) -> None:
    shown = cleaned(text + secret + text, (secret,))
    if not set(secret) & set("*… [truncated]"):
        assert secret not in shown
    assert not [char for char in shown if ord(char) < 32 or 127 <= ord(char) < 160]
    shown.encode()


@given(texts)
def test_an_excerpt_is_short_and_cleaning_it_again_changes_no_length(text: str) -> None:
    assert len(excerpt(text * 3)) <= 200


@pytest.mark.parametrize(
    "piece", ["<", "<a", "<!--", "<script>", "</", "<style>x", "\x1b[", "model ", "&lt;"]
)
def test_no_text_takes_long_to_read(piece: str) -> None:
    text = piece * (65_536 // len(piece))
    begun = time.process_time()
    refused(text.encode(), 404)
    refused({"error": {"message": text}}, 404)
    assert time.process_time() - begun < 2
