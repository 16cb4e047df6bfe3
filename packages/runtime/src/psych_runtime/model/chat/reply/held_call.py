"""What is known of a tool call while its fragments come."""

from __future__ import annotations

from dataclasses import dataclass, field

from psych_runtime.model.chat.reply.arguments import SeenArguments
from psych_runtime.model.chat.reply.names import GrowingName


@dataclass(slots=True)
class HeldCall:
    """A call that has begun. `chunk` is the number of the one that brought its last arguments."""

    number: int = 0
    index: int | None = None
    id: str | None = None
    name: GrowingName = field(default_factory=GrowingName)
    chunk: int = 0
    arguments: SeenArguments = field(default_factory=SeenArguments)
