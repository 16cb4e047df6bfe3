"""What an input and a result read as, for the model and for people alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from psych_runtime_core.jsonvalue import json_text
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.spec.names import READ_TOOL
from psych_runtime_core.spoken import content_of_input, text_of_content

ABORTED = (
    "This call was stopped before its end: nothing of it, or a part of it, may be done."
    " Doing it again may do that part twice. Check what was done, and call it again only for what is missing."
)
UNKNOWN = (
    "This call began and its end was not seen: its effect may stand."
    " Do not repeat it before you know. Check first whether it took effect; if you cannot check, say so."
)


def text_of_input(payload: Mapping[str, object]) -> str:
    """What an input says, as people read it: its text, pictures and documents by their kind."""
    return text_of_content(content_of_input(payload))


def text_of_result(finished: ToolCallFinished) -> str:
    """A result as it is when it is a text, else its compact JSON, with its files; else what became of it."""
    if finished.outcome is ToolOutcome.OK:
        return "\n".join((*_value(finished), *_files(finished)))
    if finished.outcome is ToolOutcome.ABORTED:
        return ABORTED
    if finished.outcome is ToolOutcome.UNKNOWN:
        return UNKNOWN
    return finished.failure.message if finished.failure else ""


def _value(finished: ToolCallFinished) -> Iterator[str]:
    """A result that is nothing but files has no value to be read, and a large one begins here only."""
    if finished.result_handle is not None:
        yield _elided(finished.result_handle, finished)
    elif finished.result is not None or not finished.attachments:
        yield finished.result if isinstance(finished.result, str) else json_text(finished.result)


def _elided(handle: str, finished: ToolCallFinished) -> str:
    return (
        f"This result has {finished.result_bytes} bytes, too many to be shown. It is kept whole as {handle}:"
        f" read on with {READ_TOOL}, which pages through it by lines and finds text in it."
        f" It begins:\n{finished.preview or ''}"
    )


def _files(finished: ToolCallFinished) -> Iterator[str]:
    shown = {part.media.sha256 for part in finished.media}
    for file in finished.attachments:
        unseen = "" if file.sha256 in shown else f"; its content is not shown, it is kept as {file.handle}"
        yield f"[file {file.name}: {file.content_type}, {file.size_bytes} bytes{unseen}]"
