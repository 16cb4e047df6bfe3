"""Where providers put what they say of an error: in a body of its own, or inside a reply that began well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from psych_runtime.model.decoding import decoded
from psych_runtime.model.errors.words import text_of_html
from psych_runtime.model.shapes import Object, choice_of, items, members
from psych_runtime_core.jsonvalue import EMPTY_OBJECT

MAX_FAULTS = 100
"""Of a list that stands for an error so many are read, and no message has room for more."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a body says: its words as they stand, its code, each code and type in lower case, its status.

    `is_page`: the words are those of a web page, of which the beginning is enough.
    """

    words: str = ""
    code: str | None = None
    names: frozenset[str] = frozenset()
    status: int | None = None
    request_id: str | None = None
    is_page: bool = False


def said_by_body(body: bytes) -> Said:
    """What the body of a reply says; it may be JSON, a web page, text, or none of them."""
    text = body.decode("utf-8", "replace").strip("\ufeff \t\r\n")
    # Bytes that are no text, such as a body that stayed packed, are nothing to read.
    if text.count("\ufffd") * 10 > len(text):
        return Said()
    if text.startswith("<"):
        return Said(text_of_html(text), is_page=True)
    try:
        return said_by(decoded(text))
    except (ValueError, RecursionError):
        return Said(text)


def said_by(value: object) -> Said:
    """What a JSON value says that stands for an error; Gemini puts it into a list."""
    outer = _object(value)
    inner = _object(outer.get("error")) or outer
    places = (inner, _object(inner.get("innererror")), outer)
    names = [name for place in places for name in _names(place)]
    return Said(
        words=next(filter(None, _words(outer, inner)), "") or _as_text(outer.get("error") or value),
        code=names[0] if names else _number(inner),
        names=frozenset(map(str.lower, names)),
        status=next(filter(None, map(_status, places)), None),
        request_id=_text(outer.get("request_id")) or None,
    )


def error_in(chunk: object, event: str | None = None) -> object | None:
    """The part of a reply under 200 that is an error, for `said_by`; None where there is none.

    `event` is the name of the event that brought it: what comes as `error` is one, whatever it looks like.
    """
    if event == "error":
        return chunk or EMPTY_OBJECT
    seen = _object(chunk)
    if _stands(seen.get("error")) or seen.get("object") == "error":
        return seen
    if seen.get("choices"):
        wrong = choice_of(seen).get("error")
        return {"error": wrong} if _stands(wrong) else None
    if _is_blocked(seen):
        return seen
    if "choices" in seen:
        return None
    told = _text(seen.get("message")) and (seen.get("type") == "error" or _status(seen) is not None)
    return seen if told or _stands(seen.get("detail")) else None


def _stands(value: object) -> bool:
    """Whether a key says anything: many send it empty with every chunk."""
    said = members(value)
    return any(map(_says, said.values())) if said else _says(value)


def _says(value: object) -> bool:
    """Of a code 0 is that of no error, in digits too."""
    return value.strip() not in ("", "0") if isinstance(value, str) else bool(value)


# --- the words -----------------------------------------------------------------------------------------


def _words(outer: Object, inner: Object) -> Iterator[str]:
    """Each place that may hold them, the best first."""
    if inner is not outer:
        upstream = _text(_object(inner.get("metadata")).get("raw"))
        # A router's own words say only that somebody behind it failed.
        yield ": ".join(filter(None, (_text(inner.get("message")), upstream)))
    yield _text(outer.get("error"))
    yield _text(outer.get("message"))
    yield _details(outer.get("detail"))
    yield _text(outer.get("title"))


def _details(detail: object) -> str:
    """A text, or the `msg` of each fault that a validator lists."""
    faults = map(members, items(detail)[:MAX_FAULTS] or (detail,))
    told = (_text(fault.get("msg")) or _text(fault.get("message")) for fault in faults)
    return _text(detail) or "; ".join(filter(None, told))


def _as_text(value: object) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return ""


# --- codes, types and statuses -------------------------------------------------------------------------


def _names(place: Object) -> Iterator[str]:
    """The codes and types in one object. Numbers are none, and `error` as a type says nothing."""
    for key in ("code", "type", "status"):
        name = _text(place.get(key))
        if name and name != "error" and not name.isdigit():
            yield name
    if _is_blocked(place):
        yield "prompt_blocked"


def _is_blocked(place: Object) -> bool:
    """Gemini says why a prompt was blocked, OpenRouter which words of it were flagged."""
    feedback = _object(place.get("promptFeedback")) or _object(place.get("prompt_feedback"))
    blocked = feedback.get("blockReason") or feedback.get("block_reason")
    return bool(blocked or _object(place.get("metadata")).get("flagged_input"))


def _number(place: Object) -> str | None:
    """A code that is a number of the provider's own."""
    code = place.get("code")
    if isinstance(code, bool) or not isinstance(code, int | str) or _as_status(code) is not None:
        return None
    return str(code).strip() or None


def _status(place: Object) -> int | None:
    found = (_as_status(place.get(key)) for key in ("code", "status", "status_code"))
    return next(filter(None, found), None)


def _as_status(value: object) -> int | None:
    """A status that means an error, as a number or in digits; Mistral's 1500 and the like are none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == len("400"):
        value = int(value)
    return value if isinstance(value, int) and 400 <= value <= 599 else None


# --- values of any kind --------------------------------------------------------------------------------


def _object(value: object) -> Object:
    """`value` if it is an object, the first in it if it is a list, else an empty one."""
    return members(value) or next(filter(None, map(members, items(value)[:MAX_FAULTS])), EMPTY_OBJECT)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
