"""How a call failed, for tools whose failures are of our own kinds: told whole, and not as an exception."""

from __future__ import annotations

from psych_runtime_core.records.facts import ToolFailure


class CallFailed(Exception):
    """The tool ran and failed; the failure's message is what the model will be told."""

    def __init__(self, failure: ToolFailure) -> None:
        self.failure = failure
        super().__init__(failure.message)


class EndUnseen(CallFailed):
    """Nobody saw the end: what the tool asked of the world may have been done."""
