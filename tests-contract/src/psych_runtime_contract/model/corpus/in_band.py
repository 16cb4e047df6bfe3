"""E: errors under a 200, in whatever form, and the same error as a status."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from psych_runtime_contract.model.cases import ErrorKind, Outcome, WireCase
from psych_runtime_contract.model.chat import (
    DONE,
    answered,
    choice,
    event,
    failure,
    finish,
    sent,
    sse,
    streamed,
    text,
    unended,
)

HELLO = Outcome(text="Hello")
FIRE = "The engine is on fire"
TRANSIENT = Outcome(error="transient", message_contains=(FIRE,))
PERMANENT = Outcome(error="permanent", message_contains=(FIRE,))
AFTER_TEXT = Outcome(error="transient", message_contains=(FIRE,), text="Hello")
TOO_LONG = "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."
FILTERED = "The response was filtered."


def _places() -> Iterator[WireCase]:
    broken = failure(FIRE, type="server_error", code="server_error")
    yield WireCase("E1.first", streamed(broken), TRANSIENT)
    yield WireCase("E1.after text", streamed(text("Hello"), broken), AFTER_TEXT)
    yield WireCase("E1.beside choices", streamed(text("Hello"), {**finish(), **broken}), AFTER_TEXT)
    yield WireCase("E1.the error is text", streamed({"error": FIRE}), TRANSIENT)


def _codes() -> Iterator[WireCase]:
    codes: dict[str, tuple[object, Outcome]] = {
        "400": (400, PERMANENT),
        "429": (429, TRANSIENT),
        "502": (502, TRANSIENT),
        "400 as text": ("400", PERMANENT),
        "429 as text": ("429", TRANSIENT),
    }
    for name, (code, outcome) in codes.items():
        yield WireCase(f"E2.{name}", streamed(text("Hello"), failure(FIRE, code=code)), outcome)
    yield WireCase("E2.status", streamed(failure(FIRE, status=400)), PERMANENT)
    yield WireCase("E2.status_code", streamed(failure(FIRE, status_code=400)), PERMANENT)
    yield WireCase("E2.missing", streamed(text("Hello"), failure(FIRE)), TRANSIENT)


def _named_events() -> Iterator[WireCase]:
    payloads: dict[str, tuple[Any, Outcome]] = {
        "message": ({"message": FIRE, "code": 400}, PERMANENT),
        "message without a code": ({"message": FIRE}, TRANSIENT),
        "error": (failure(FIRE, code=400), PERMANENT),
        "plain text": (FIRE, TRANSIENT),
    }
    for name, (payload, outcome) in payloads.items():
        body = sse(text("Hello")) + event(payload, name="error")
        yield WireCase(f"E3.{name}", sent(body), replace(outcome, text="Hello"))


def _shapes() -> Iterator[WireCase]:
    inner = {"message": FIRE, "code": 502}
    for word in ("error", "stop", None):
        chunk = choice(delta={"content": ""}, error=inner, finish_reason=word)
        yield WireCase(f"E4.finish {word}", streamed(text("Hello"), chunk), AFTER_TEXT)
    listed = {"object": "error", "message": FIRE, "type": "BadRequestError", "param": None, "code": 400}
    yield WireCase("E5.object", streamed(listed), PERMANENT)
    yield WireCase("E5.detail", streamed({"detail": FIRE}), TRANSIENT)
    yield WireCase("E5.detail as a list", streamed({"detail": [{"loc": ["body"], "msg": FIRE}]}), TRANSIENT)


def _kinds() -> Iterator[WireCase]:
    overflow = failure(TOO_LONG, type="invalid_request_error", code="context_length_exceeded")
    filtered = failure(FILTERED, type=None, code="content_filter")
    inner = failure(FILTERED, code=None, innererror={"code": "ResponsibleAIPolicyViolation"})
    quota = failure("You exceeded your quota.", type="insufficient_quota", code="insufficient_quota")
    key = failure("Incorrect key.", type="invalid_request_error", code="invalid_api_key")
    same: dict[str, tuple[int, dict[str, Any], ErrorKind]] = {
        "overflow": (400, overflow, "context_overflow"),
        "overflow by its words": (400, failure(TOO_LONG), "context_overflow"),
        "filter": (400, filtered, "content_filter"),
        "filter by its inner code": (400, inner, "content_filter"),
        "quota": (429, quota, "permanent"),
        "bad key": (401, key, "auth"),
    }
    for name, (status, error, kind) in same.items():
        outcome = Outcome(error=kind, message_contains=(error["error"]["message"],))
        yield WireCase(f"E6.{name}, as status", answered(error, status), outcome)
        yield WireCase(f"E6.{name}, in band", streamed(error), outcome)


def _others() -> Iterator[WireCase]:
    yield WireCase("E7", sent(sse(text("Hello"), failure(FIRE), finish(), DONE)), AFTER_TEXT)
    late = failure(FIRE)
    yield WireCase("E7.after the finish reason", streamed(text("Hello"), finish(), late), HELLO)
    yield WireCase("E7.after the finish reason, no end", unended(text("Hello"), finish(), late), HELLO)
    filtered = Outcome(error="content_filter", message_contains=(FILTERED,), text="Hello")
    late = failure(FILTERED, code="content_filter")
    yield WireCase("E7.a filter after the finish reason", streamed(text("Hello"), finish(), late), filtered)
    nothings: dict[str, Any] = {"null": None, "empty": {}, "no code": {"code": 0, "message": ""}}
    for name, nothing in nothings.items():
        chunks = [{**chunk, "error": nothing} for chunk in (text("Hel"), text("lo"), finish())]
        yield WireCase(f"E8.{name}", streamed(*chunks), HELLO)
    yield WireCase("E8.null, no end", unended({**text("Hello"), "error": None}), Outcome(error="transient"))


CASES: tuple[WireCase, ...] = (
    *_places(),
    *_codes(),
    *_named_events(),
    *_shapes(),
    *_kinds(),
    *_others(),
)
