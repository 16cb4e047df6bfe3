"""What the reply of an HTTP tool is: a value, a text, a file; and how a call ends that was answered no."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from psych_runtime.secrets.masks import NO_MASKS, Masks
from psych_runtime.tools.failures import CallFailed, EndUnseen
from psych_runtime.tools.http.ending import HttpEnd
from psych_runtime.tools.http.reply import HttpReply, excerpt_of, value_of
from psych_runtime.tools.http.tries import Tried
from psych_runtime.tools.output import File
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import Phase, RequestFailed
from psych_runtime_core.records.facts import ToolFailure

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JSON = "application/json"


def reply(body: bytes, content_type: str | None = JSON, status: int = 200) -> HttpReply:
    headers = {} if content_type is None else {"content-type": content_type}
    return HttpReply(status, headers, body)


@pytest.mark.parametrize(
    ("body", "content_type", "value"),
    [
        pytest.param(b'{"a":[1,null]}', JSON, {"a": [1, None]}, id="JSON"),
        pytest.param(b"1.0", "Application/JSON; charset=utf-8", 1, id="whatever the case"),
        pytest.param(b"[]", "application/problem+json", [], id="what is JSON by its suffix"),
        pytest.param('"é"'.encode("utf-16"), JSON, "é", id="JSON finds its own encoding"),
        pytest.param(b"\xef\xbb\xbf{}", JSON, {}, id="a mark of the encoding is no text"),
        pytest.param('"é"'.encode("latin-1"), JSON + ";charset=latin-1", "é", id="JSON in a stated charset"),
        pytest.param(b'"\\ud800"', JSON, "\ud800", id="half of a surrogate pair"),
        pytest.param("é".encode(), "text/plain", "é", id="text is UTF-8"),
        pytest.param("é".encode("cp1252"), 'text/html; charset="windows-1252"', "é", id="unless it says so"),
        pytest.param(b"\x00", "text/plain", "\x00", id="text may hold anything"),
        pytest.param(b"<a/>", "application/xml", "<a/>", id="XML"),
        pytest.param(b"<a/>", "image/svg+xml", "<a/>", id="XML by its suffix"),
        pytest.param(b"a: 1", "application/yaml", "a: 1", id="YAML"),
        pytest.param(b"a: 1", "application/vnd.x+yaml", "a: 1", id="YAML by its suffix"),
        pytest.param(b"a=1", "application/x-www-form-urlencoded", "a=1", id="a form"),
        pytest.param(b"{}", "text/plain", "{}", id="text is not parsed"),
        pytest.param(b"", JSON, None, id="nothing"),
        pytest.param(b"", None, None, id="nothing of no type"),
    ],
)
def test_a_body_is_read_by_its_type(body: bytes, content_type: str | None, value: Any) -> None:
    assert value_of(reply(body, content_type), "t") == value


def test_a_204_has_no_body_whatever_comes() -> None:
    assert value_of(reply(b"x", status=204), "t") is None


@pytest.mark.parametrize(
    ("body", "content_type", "name", "media_type"),
    [
        pytest.param(b"\x89PNG", "image/png", "t.png", "image/png", id="a picture"),
        pytest.param(
            b"%PDF", "application/pdf; a=b", "t.pdf", "application/pdf", id="parameters are left out"
        ),
        pytest.param(b"{}", None, "t", "application/octet-stream", id="no type at all"),
        pytest.param(b"{}", "json", "t", "application/octet-stream", id="a type that is none"),
        pytest.param(b"x", "application/vnd.ms-excel", "t", "application/vnd.ms-excel", id="a long one"),
        pytest.param(b"\xff", "text/plain", "t.plain", "text/plain", id="text that is not what it says"),
        pytest.param(b"\xff", JSON, "t.json", JSON, id="JSON that is no text"),
        pytest.param(b"x", "text/plain; charset=klingon", "t.plain", "text/plain", id="an unknown charset"),
        pytest.param(b"x", "text/plain; charset=base64", "t.plain", "text/plain", id="one that is none"),
        *[
            pytest.param(b"xn--a", f"text/plain; charset={name}", "t.plain", "text/plain", id=name)
            for name in ("punycode", "IDNA", "unicode-escape", "raw_unicode_escape", "utf-7", "undefined")
        ],
    ],
)
def test_anything_else_is_a_file(body: bytes, content_type: str | None, name: str, media_type: str) -> None:
    assert value_of(reply(body, content_type), "t") == File(name, media_type, body)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<html>", "Expecting value"),
        ("NaN", "NaN is no JSON"),
        ("{} {}", "Extra data"),
        ("[" * 200 + "]" * 200, "128"),
        ("[" * 200_000, "nested"),
        ("1" * 5_000, "digits"),
    ],
)
def test_json_that_cannot_be_read_is_text_with_a_note(text: str, fault: str) -> None:
    found: Any = value_of(reply(text.encode()), "t")
    assert found["text"] == text
    assert found["note"].startswith("The reply says that it is JSON, and cannot be read as such: ")
    assert fault in found["note"]


def test_a_body_of_bytes_is_told_by_its_size_and_type() -> None:
    assert excerpt_of(reply(b"\x00\x01", "image/png")) == "(2 bytes of image/png)"
    assert excerpt_of(reply(b"\x00\x01", None)) == "(2 bytes of no stated type)"
    assert excerpt_of(reply(b'{"a": 1}')) == '{"a": 1}'


# --- the end of a call -----------------------------------------------------------------------------------


def end_of(tried: Tried, *kind: str, masks: Masks = NO_MASKS) -> CallFailed:
    with pytest.raises(CallFailed) as failed:
        HttpEnd("t", 2.5, only_reads="reads" in kind, safe="safe" in kind).result(tried, masks, NOW)
    return failed.value


def end(tried: Tried, *, masks: Masks = NO_MASKS) -> ToolFailure:
    return end_of(tried, masks=masks).failure


@pytest.mark.parametrize("status", [200, 201, 202, 226])
def test_any_success_is_a_result(status: int) -> None:
    end = HttpEnd("t", 2.5, only_reads=False, safe=False)
    assert end.result(reply(b"1", status=status), NO_MASKS, NOW) == 1


@pytest.mark.parametrize(
    ("status", "told", "transient"),
    [
        (404, "404 Not Found", False),
        (400, "400 Bad Request", False),
        (304, "304 Not Modified", False),
        (799, "799", False),
        *[(status, str(status), True) for status in (408, 425, 429, 500, 502, 503, 504)],
    ],
)
def test_any_other_answer_is_an_error_with_its_first_words(status: int, told: str, transient: bool) -> None:
    failure = end(HttpReply(status, {"content-type": "text/plain", "retry-after": "7"}, b"w" * 2_001))
    assert (failure.kind, failure.code, failure.transient) == ("http_error", str(status), transient)
    assert failure.retry_after_seconds == 7
    assert told in failure.message
    assert failure.message.count("w" * 2_000) == 1
    assert "w" * 2_001 not in failure.message


def test_a_redirect_is_told_by_its_origin() -> None:
    failure = end(HttpReply(302, {"location": "/x"}, b"moved", "https://elsewhere.example:443"))
    assert (failure.kind, failure.code, failure.transient) == ("http_redirect", "302", False)
    assert failure.message == wording.http_redirect("302 Found", "https://elsewhere.example:443")


def test_a_secret_that_ends_behind_the_first_words_is_hidden_before_they_are_cut() -> None:
    body = b"w" * 1_995 + b"s3cret-value"
    failure = end(HttpReply(403, {"content-type": "text/plain"}, body), masks=Masks({"s3cret-value": "crm"}))
    assert "s3cre" not in failure.message
    assert "[secr" in failure.message


UNSEEN, INVITED, CAUTIOUS, IN_VAIN = "unseen", "invited", "cautious", "in vain"
CAUTION, INVITATION = "do not repeat it before you know", "once more may help"
GATEWAYS = (502, 504, 520, 521, 522, 523, 524)


@pytest.mark.parametrize(
    ("statuses", "headers", "reads", "safe", "other"),
    [
        pytest.param(GATEWAYS, {}, INVITED, UNSEEN, UNSEEN, id="a gateway answers for its server"),
        pytest.param((500, 503, 529), {}, INVITED, INVITED, CAUTIOUS, id="the server may have done it"),
        pytest.param((500, 529), {"retry-after": "7"}, INVITED, INVITED, CAUTIOUS, id="and asks to wait"),
        pytest.param((503,), {"retry-after": "7"}, INVITED, INVITED, INVITED, id="too busy to do it"),
        pytest.param((408, 425, 429), {}, INVITED, INVITED, INVITED, id="it did not do it"),
        pytest.param((400, 404, 409, 501, 505), {}, IN_VAIN, IN_VAIN, IN_VAIN, id="it never will"),
        pytest.param(
            (507, 508, 511, 525, 530, 598, 599, 799),
            {"retry-after": "7"},
            IN_VAIN,
            CAUTIOUS,
            CAUTIOUS,
            id="it may have done it, and a changed call would be another one",
        ),
    ],
)
def test_a_model_is_invited_to_repeat_only_what_was_not_done_or_may_be_done_twice(
    statuses: tuple[int, ...], headers: dict[str, str], reads: str, safe: str, other: str
) -> None:
    told = [
        tuple(_told(end_of(HttpReply(status, headers, b"no"), *kind)) for kind in (["reads"], ["safe"], []))
        for status in statuses
    ]
    assert told == [(reads, safe, other)] * len(statuses)


def _told(error: CallFailed) -> str:
    phrases = {CAUTION: CAUTIOUS, INVITATION: INVITED, "most likely fail again": IN_VAIN}
    (advice,) = (means for phrase, means in phrases.items() if phrase in error.failure.message)
    if isinstance(error, EndUnseen):
        assert advice == CAUTIOUS
        return UNSEEN
    return advice


@pytest.mark.parametrize("phase", ["connect", "write", "read", "total", "encoding"])
@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("only_reads", [True, False])
def test_only_what_was_sent_and_may_change_something_has_an_open_end(
    phase: Phase, sent: bool, only_reads: bool
) -> None:
    failed = RequestFailed("https://a.example:443", phase, "gone", sent=sent)
    error, unseen = end_of(failed, *["reads"] * only_reads, "safe"), sent and not only_reads
    assert isinstance(error, EndUnseen) is unseen
    failure = error.failure
    assert failure.transient
    assert (CAUTION in failure.message, INVITATION in failure.message) == (unseen, not unseen)
    if phase == "total":
        assert (failure.kind, failure.message) == ("timeout", wording.no_reply(2.5, may_stand=unseen))
    else:
        assert failure.kind == "http_error"
        seen = {"reached": phase != "connect", "sent": sent, "may_stand": unseen}
        assert failure.message == wording.reply_failed("gone", **seen)
        assert "a.example" not in failure.message


def test_json_is_kept_as_it_came() -> None:
    body = {"n": 2**80, "t": "naïve"}
    assert value_of(reply(json.dumps(body).encode()), "t") == body
