"""The chunks in the data of one server-sent event."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple, cast

from psych_runtime.model.decoding import decoded
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.model.errors.words import excerpt
from psych_runtime.model.shapes import Object
from psych_runtime_core.errors import ModelErrorKind

# The largest event has room for as many of four bytes. The figures of each token take over five a value, and
# what is all brackets would take fifty times its length to hold.
MAX_EVENT_VALUES = 2_097_152
# A string reaches to its end or to that of the text, so that no text takes longer than its length.
_STRING_OR_MARK = re.compile(r'"(?:[^"\\]++|\\.)*+"?|([,\[{\n])', re.DOTALL)


class Payload(NamedTuple):
    """What one event holds, of an error that is no JSON its text; `done` is the mark that ends a stream."""

    chunks: tuple[Object | str, ...] = ()
    done: bool = False


def read_payload(data: str, errors: CallErrors) -> Payload:
    """The objects in `data`: the one that it is, or one a line; floats are exact, as `Decimal`.

    Comments, blanks and JSON that is no object hold nothing. Raises the transient `ModelError`
    `malformed_event` for what is no JSON, and for endless nesting; the permanent `answer_too_large` for more
    values or lines than are worth reading.
    """
    text = data.strip()
    if _is_crowded(text):
        words = f"an event of the stream holds over {MAX_EVENT_VALUES} values"
        raise errors.of_ours(ModelErrorKind.PERMANENT, words, code="answer_too_large")
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
        return Payload(_objects(decoded(text)))
    except ValueError:
        lines = [line.strip() for line in text.split("\n")]
        if len(lines) == 1:
            raise
    chunks: list[Object] = []
    for line in lines:
        if _ends(line):
            return Payload(tuple(chunks), done=True)
        if not _says_nothing(line):
            chunks.extend(_objects(decoded(line)))
    return Payload(tuple(chunks))


def _is_crowded(text: str) -> bool:
    """Whether there is more to parse than an answer of any length has, be it sent with all its figures."""
    if len(text) <= MAX_EVENT_VALUES or sum(map(text.count, ",[{\n")) <= MAX_EVENT_VALUES:
        return False
    # Most of them may stand in its words.
    marks = (found for found in _STRING_OR_MARK.finditer(text) if found.lastindex)
    return next(islice(marks, MAX_EVENT_VALUES, None), None) is not None


def _says_nothing(text: str) -> bool:
    return not text or text.startswith(":")


def _ends(text: str) -> bool:
    return len(text) == len("[DONE]") and text.upper() == "[DONE]"


def _objects(value: object) -> tuple[Object, ...]:
    return (cast("Object", value),) if isinstance(value, dict) else ()
