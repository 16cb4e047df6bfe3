"""What a provider's error means, however it says it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.model.errors.replies import CallErrors, error_of_reply, in_band_error
from psych_runtime_core.errors import ModelError

KEY = "sk-proj-aB3/xY+9=="
ERRORS = CallErrors(provider="openai", model="gpt-5", secrets=(KEY,))


def of_status(status: int, body: object = b"", headers: dict[str, str] | None = None) -> ModelError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return error_of_reply(status, headers or {}, raw, ERRORS)


def in_band(chunk: object, event: str | None = None) -> ModelError:
    error = in_band_error(chunk, ERRORS, event=event)
    assert error is not None
    return error


def error(message: object = "no", **fields: object) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


# --- the table, row by row -----------------------------------------------------------------------------

OVERFLOW = [
    "This model's maximum context length is 8192 tokens.",
    "The input exceeds the context window of this model.",
    "Prompt is too long: 210000 tokens > 200000 maximum",
    "Input is too long for requested model.",
    "You passed more than the maximum number of tokens.",
    "The input token count (1200000) exceeds the limit",
    "Too many input tokens.",
    "Please REDUCE the length\n of the messages.",
]
TRANSIENT_STATUSES = [408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529]
PERMANENT_STATUSES = [400, 404, 405, 406, 409, 411, 413, 414, 415, 422, 431, 451, 501, 505, 519, 525, 599]


@dataclass(frozen=True)
class Case:
    """An error as status and body, and what it means; `in_band`: what the same words mean under 200."""

    status: int
    body: dict[str, Any]
    kind: str
    code: str | None = None
    in_band: str | None = None


def rows() -> Iterator[Case]:
    overflow, filtered, gone = "context_overflow", "content_filter", "model_not_found"
    for words in OVERFLOW:
        yield from (Case(status, error(words), overflow, in_band=overflow) for status in (400, 413, 422))
    for named in ({"code": "context_length_exceeded"}, {"type": "context_length_exceeded"}):
        yield Case(400, error(**named), overflow, "context_length_exceeded", overflow)
        yield Case(500, error(**named), overflow, "context_length_exceeded", overflow)
    yield Case(413, error("Request too large for gpt-5"), overflow)
    yield Case(429, error("Request too large for gpt-5", type="tokens"), overflow, "tokens")
    for code in ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"):
        yield Case(400, error(code=code), filtered, code, filtered)
        yield Case(400, error(innererror={"code": code}), filtered, code, filtered)
    yield Case(
        403,
        error("Your input was flagged", metadata={"flagged_input": "x"}),
        filtered,
        "prompt_blocked",
        filtered,
    )
    for blocked in (
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"prompt_feedback": {"block_reason": "X"}},
    ):
        yield Case(400, {**blocked, "choices": []}, filtered, "prompt_blocked", filtered)
    yield from (Case(status, error(), "auth") for status in (401, 403))
    for kind in ("authentication_error", "permission_error"):
        yield Case(400, error(type=kind), "auth", kind, "auth")
    yield Case(400, error(code="invalid_api_key"), "auth", "invalid_api_key", "auth")
    for code in ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
        yield Case(429, error(code=code), "permanent", code, "permanent")
    yield Case(402, error(), "permanent")
    yield from (Case(status, error(), "transient") for status in TRANSIENT_STATUSES)
    for kind in ("overloaded_error", "rate_limit_error", "server_error", "api_error", "timeout_error"):
        yield Case(400, error(type=kind), "transient", kind, "transient")
    yield Case(410, error(), "permanent", gone)
    for words in (
        "The model `gpt-4.9` does not exist or you do not have access to it.",
        "models/gemini-0 is not found for API version v1main",
        "model: claude-0",
        "Unknown model: llama",
        "No endpoints found for some/model.",
        "The model `x` has been deprecated",
    ):
        yield Case(404, error(words, type="not_found_error"), "permanent", gone)
    for code in ("model_not_found", "model_decommissioned", "DeploymentNotFound"):
        yield Case(400, error(code=code), "permanent", gone, "permanent")
    yield from (Case(status, error(), "permanent") for status in PERMANENT_STATUSES)


CASES = [pytest.param(case, id=f"{number}-{case.status}") for number, case in enumerate(rows())]


@pytest.mark.parametrize("case", CASES)
def test_a_status_and_a_body_have_one_kind(case: Case) -> None:
    found = of_status(case.status, case.body)
    assert (found.kind.value, found.code, found.status) == (case.kind, case.code, case.status)


@pytest.mark.parametrize("case", CASES)
def test_the_same_error_inside_a_reply_means_what_it_does_as_a_status(case: Case) -> None:
    body = {**case.body, "error": {**case.body.get("error", {}), "status_code": case.status}}
    found = in_band(body)
    assert (found.kind.value, found.code, found.status) == (case.kind, case.code, case.status)


@pytest.mark.parametrize("case", CASES)
def test_without_a_status_its_words_alone_decide_and_an_unknown_one_may_pass(case: Case) -> None:
    found = in_band(case.body)
    assert (found.kind.value, found.status) == (case.in_band or "transient", None)


@pytest.mark.parametrize("case", CASES)
def test_a_key_that_is_a_word_of_what_tells_the_kind_is_hidden_and_changes_nothing(case: Case) -> None:
    body = json.dumps(case.body)
    for key in filter(None, re.split(r"[^A-Za-z0-9_-]+", body)):
        hiding = CallErrors(provider="p", model="m", secrets=(key,))
        found = error_of_reply(case.status, {}, body.encode(), hiding)
        assert (found.kind.value, found.status) == (case.kind, case.status)
        if case.code == "model_not_found":
            assert found.code == case.code
        inside = in_band_error(case.body, hiding)
        assert inside is not None
        assert inside.kind.value == (case.in_band or "transient")
        for shown in (found, inside):
            words = shown.message.partition(" (p, m")[0]
            assert key.lower() not in words.lower() or case.body["error"].get("message") is None


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "The argument `context` is invalid", "permanent"),
        (400, "Unknown field `window` in context", "permanent"),
        (400, "maximum tokens must be positive", "permanent"),
        (400, "Request too large", "permanent"),
        (404, "This model's maximum context length is 8192 tokens", "permanent"),
        (429, "maximum context length", "transient"),
        (500, "prompt is too long", "transient"),
        (429, "Too many large requests", "transient"),
        (400, "The prompt mentions a content_filter", "permanent"),
        (400, "insufficient_quota is not a model", "permanent"),
    ],
)
def test_words_that_are_nearly_a_phrase_or_under_another_status_mean_nothing(
    status: int, words: str, kind: str
) -> None:
    assert of_status(status, error(words)).kind == kind


@pytest.mark.parametrize(
    "words",
    [
        "The requested URL was not found on this server.",
        "404 page not found",
        "Invalid URL (POST /v2/chat)",
        "",
    ],
)
def test_a_wrong_address_is_no_unknown_model(words: str) -> None:
    found = of_status(404, error(words))
    assert (found.kind, found.code) == ("permanent", None)
    assert "base_url" in found.message


@pytest.mark.parametrize(("status", "code"), [(402, None), (429, "insufficient_quota")])
def test_an_account_without_credit_is_told_so(status: int, code: str | None) -> None:
    assert "has credit" in of_status(status, error(code=code)).message


def test_a_key_that_may_not_use_the_model_stays_a_matter_of_the_key() -> None:
    found = of_status(403, error(code="model_not_found"))
    assert (found.kind, found.code) == ("auth", "model_not_found")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (error(code="a", type="b"), "a"),
        (error(type="b"), "b"),
        ({"type": "error", **error()}, None),
        ({"type": "error", **error(type="b")}, "b"),
        ({**error(), "code": "a"}, "a"),
        (error(code=429, status="RESOURCE_EXHAUSTED"), "RESOURCE_EXHAUSTED"),
        (error(code=429), None),
        (error(code="1500"), "1500"),
        (error(code=1500), "1500"),
        (error(code=True), None),
        (error(code=" "), None),
        (error(code={"a": 1}), None),
        (error(code="c" * 500), "c" * 115 + "… [truncated]"),
    ],
    ids=repr,
)
def test_a_code_is_the_providers_own_word_else_its_type_else_its_number(
    body: dict[str, Any], code: str | None
) -> None:
    assert of_status(409, body).code == code


# --- where the error stands under 200 ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, "permanent"),
        (429, "transient"),
        (502, "transient"),
        ("400", "permanent"),
        ("429", "transient"),
        ("502", "transient"),
        (None, "transient"),
        (1500, "transient"),
        ("1500", "transient"),
        (200, "transient"),
        (True, "transient"),
        ("rate_limit_exceeded", "transient"),
    ],
)
@pytest.mark.parametrize("key", ["code", "status", "status_code"])
def test_a_status_is_a_number_or_digits(key: str, code: object, kind: str) -> None:
    assert in_band(error(**{key: code})).kind == kind
    assert in_band({"error": {"message": "no"}, key: code}).kind == kind


PLACES: dict[str, tuple[object, str | None]] = {
    "alone": (error("boom"), None),
    "beside empty choices": ({**error("boom"), "choices": []}, None),
    "beside choices": ({**error("boom"), "choices": [{"delta": {"content": "x"}}]}, None),
    "a text": ({"error": "boom"}, None),
    "in a list": ([error("boom")], None),
    "in a choice": ({"choices": [{"index": 0, "error": {"message": "boom"}}]}, None),
    "in a choice without a number": ({"choices": [None, {"error": {"message": "boom"}}]}, None),
    "in a choice numbered in text": ({"choices": [{"index": "0", "error": {"message": "boom"}}]}, None),
    "a text in a choice": ({"choices": [{"error": "boom", "finish_reason": "error"}]}, None),
    "an object of its own": ({"object": "error", "message": "boom", "type": "x"}, None),
    "a detail": ({"detail": "boom"}, None),
    "details": ({"detail": [{"loc": ["body"], "msg": "boom"}]}, None),
    "a type of its own": ({"type": "error", "message": "boom"}, None),
    "a message with a status": ({"message": "boom", "code": 503}, None),
    "an event with a message": ({"message": "boom"}, "error"),
    "an event with an error": ({"error": "boom"}, "error"),
    "an event that is text": ("boom", "error"),
    "anthropic's": ({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}, "error"),
}


@pytest.mark.parametrize(("chunk", "event"), PLACES.values(), ids=PLACES)
def test_an_error_under_200_is_found_wherever_it_stands(chunk: object, event: str | None) -> None:
    found = in_band(chunk, event)
    assert found.kind == "transient"
    assert found.message.startswith("boom")


@pytest.mark.parametrize("payload", [{}, None, "", 7, [], {"error": None}], ids=repr)
def test_an_event_named_error_is_one_whatever_it_holds(payload: object) -> None:
    assert in_band(payload, "error").kind == "transient"


EMPTY: list[object] = [
    *[None, {}, "", " ", [], False, 0, "0", {"message": None}],
    *[{"code": 0, "message": ""}, {"code": "0", "message": " ", "details": []}, {"code": False}],
]
NO_ERRORS: list[object] = [
    *[{"error": nothing, "choices": []} for nothing in EMPTY],
    *[{"error": nothing} for nothing in EMPTY],
    *[{"choices": choices} for choices in ([], None, [None], "x", [{"index": 1, "error": {"message": "x"}}])],
    {"choices": [{"error": None, "delta": {}}], "detail": "of the choice"},
    {"choices": [], "detail": "of the chunk"},
    {"usage": {"prompt_tokens": 1}},
    {"message": "hello"},
    {"prompt_filter_results": [{"content_filter_results": {}}], "choices": []},
    *[None, [], "x", 7, "boom", [None], {}],
]


@pytest.mark.parametrize("chunk", NO_ERRORS, ids=repr)
def test_a_chunk_without_an_error_has_none(chunk: object) -> None:
    assert in_band_error(chunk, ERRORS) is None


def test_an_error_without_words_shows_itself_and_not_what_came_beside_it() -> None:
    found = in_band({"error": {"code": 502, "message": ""}, "choices": [{"delta": {"content": "private"}}]})
    assert found.message.startswith('{"code": 502, "message": ""} (openai')


def test_a_number_without_end_hides_no_code() -> None:
    body = b'{"error": {"code": "context_length_exceeded", "message": "no", "n": ' + b"9" * 5_000 + b"}}"
    found = of_status(400, body)
    assert (found.kind, found.code) == ("context_overflow", "context_length_exceeded")


# --- replies that no model gives -----------------------------------------------------------------------


def test_a_page_under_200_is_no_model() -> None:
    page = b"<html><body><h1>Welcome</h1></body></html>"
    found = of_status(200, page, {"Content-Type": "text/html; charset=utf-8"})
    assert (found.kind, found.code, found.status) == ("permanent", "not_a_model", 200)
    assert "text/html" in found.message
    assert "Welcome" in found.message
    assert "base_url" in found.message


@pytest.mark.parametrize(("status", "named"), [(204, "204 No Content"), (302, "302 Found"), (299, "299")])
def test_a_status_that_no_model_gives_is_named(status: int, named: str) -> None:
    found = of_status(status)
    assert (found.kind, found.code, found.status) == ("permanent", "not_a_model", status)
    assert named in found.message


@pytest.mark.parametrize(
    ("location", "told"),
    [
        (f"https://u:p@elsewhere.example/{KEY}?k={KEY}", "https://elsewhere.example"),
        ("http://[::1", "302 Found,"),
        ("/login", "302 Found,"),
        ("", "302 Found,"),
    ],
)
def test_a_redirect_says_where_it_leads_and_no_more(location: str, told: str) -> None:
    found = of_status(302, b"", {"location": location})
    assert told in found.message
    assert KEY not in found.message


def test_an_empty_reply_may_be_asked_for_again() -> None:
    found = of_status(200, b" \r\n")
    assert (found.kind, found.code) == ("transient", "empty_response")


# --- what is told besides ------------------------------------------------------------------------------


def test_the_hint_and_the_id_of_a_reply_are_in_the_error() -> None:
    found = of_status(429, error(), {"Retry-After": "7", "X-Request-ID": "req_1"})
    assert (found.retry_after_seconds, found.request_id) == (7.0, "req_1")
    assert (found.provider, found.model) == ("openai", "gpt-5")
    assert of_status(500, {**error(), "request_id": "req_2"}).request_id == "req_2"
    assert of_status(500).request_id is None


@given(
    st.integers(100, 999),
    st.binary(max_size=300) | st.text(max_size=100).map(str.encode),
    st.dictionaries(st.text(max_size=20), st.text(max_size=40), max_size=4),
)
def test_any_reply_is_an_error_of_a_model(status: int, body: bytes, headers: dict[str, str]) -> None:
    found = error_of_reply(status, headers, body, ERRORS)
    assert found.message
    assert len(found.message) <= 8_192


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "status", "detail", "choices", "metadata"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(json_values, st.sampled_from([None, "error", "message"]))
def test_any_chunk_is_read_without_raising(chunk: object, event: str | None) -> None:
    found = in_band_error(chunk, ERRORS, event=event)
    assert found is None or found.message
    assert event != "error" or found is not None
