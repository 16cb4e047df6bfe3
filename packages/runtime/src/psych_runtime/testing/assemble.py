"""The message of a stream that is of no Run, so that nobody gives its calls their ids."""

from __future__ import annotations

from collections.abc import Iterable

from psych_runtime.model.assemble import Assembly
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import AssistantMessage, ModelSource
from psych_runtime_core.ports.model import StreamEvent

NOBODY = ModelSource(provider="", model="")


def assemble(events: Iterable[StreamEvent], source: ModelSource = NOBODY) -> AssistantMessage:
    """The message of a whole stream. Raises `ModelError` as `Assembly` does."""
    assembly = Assembly(source, numbered)
    for event in events:
        assembly.feed(event)
    return assembly.finish().message


def numbered(ordinal: int) -> ToolCallId:
    """The id of the call that began as the n-th, from 0."""
    return ToolCallId(f"call_{ordinal}")
