"""The chunks in the data of one server-sent event."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, cast

from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.model.errors.words import excerpt
from psych_runtime.model.shapes import Object
from psych_runtime_core.errors import ModelErrorKind


class Payload(NamedTuple):
    """What one event holds, of an error that is no JSON its text; `done` is the mark that ends a stream."""

    chunks: tuple[Object | str, ...] = ()
    done: bool = False


def read_payload(data: str, errors: CallErrors) -> Payload:
    """The objects in `data`: the one that it is, or one a line; floats are exact, as `Decimal`.

    Comments, blanks and JSON that is no object hold nothing. Raises the transient `ModelError`
    `malformed_event` for what is no JSON, and for endless nesting.
    """
    text = data.strip()
    if _says_nothing(text):
        return Payload()
    if _ends(text):
        return Payload(done=True)
    try:
        return _lines(text)
    except (ValueError, RecursionError) as broken:
        why = "it is nested too deeply" if isinstance(broken, RecursionError) else "it is no JSON"
        words = f"an event of the stream cannot be read, {why}: {excerpt(data, errors.secrets)}"
        raise errors.of_ours(ModelErrorKind.TRANSIENT, words, code="malformed_event") from None


def _lines(text: str) -> Payload:
    """`text` as one document, else as one a line."""
    try:
        return Payload(_objects(_decoded(text)))
    except ValueError:
        lines = [line.strip() for line in text.split("\n")]
        if len(lines) == 1:
            raise
    chunks: list[Object] = []
    for line in lines:
        if _ends(line):
            return Payload(tuple(chunks), done=True)
        if not _says_nothing(line):
            chunks.extend(_objects(_decoded(line)))
    return Payload(tuple(chunks))


def _says_nothing(text: str) -> bool:
    return not text or text.startswith(":")


def _ends(text: str) -> bool:
    return len(text) == len("[DONE]") and text.upper() == "[DONE]"


def _objects(value: object) -> tuple[Object, ...]:
    return (cast("Object", value),) if isinstance(value, dict) else ()


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        # An exponent of twenty digits: no figure at all, and no reason to lose an answer.
        return Decimal("NaN")


# NaN and Infinity are read too: a provider that does not know a price writes them beside a good answer. Not
# strict: some write a control character of a text as it is.
_DECODER = json.JSONDecoder(strict=False, parse_float=_decimal, parse_constant=Decimal)


def _decoded(text: str) -> object:
    """The JSON that `text` is, from its first character to its last."""
    value, end = _DECODER.raw_decode(text)
    if end < len(text):
        raise ValueError("more text comes behind the JSON")
    return value
