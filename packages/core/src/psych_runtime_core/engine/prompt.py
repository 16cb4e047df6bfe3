"""What a lane's model is sent, and whether a strict provider would take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from psych_runtime_core.errors import ConversationError
from psych_runtime_core.ids import RunId
from psych_runtime_core.messages import (
    Message,
    check_conversation,
)
from psych_runtime_core.spec.agent import AgentSpec


def system_prompt(spec: AgentSpec) -> str:
    """What an agent is told before all else; `""` when its Spec says nothing."""
    return spec.instructions or spec.description


def system_text(system: str, block: str = "") -> str:
    """The whole system prompt of a request that asks for an answer by `block`."""
    return "\n\n".join(part for part in (system, block) if part)


class Origin(NamedTuple):
    """The record behind a message."""

    run_id: RunId
    seq: int


@dataclass(frozen=True, slots=True)
class PromptFault:
    """A record whose message no strict provider would take: a bug of ours."""

    run_id: RunId
    seq: int
    detail: str


@dataclass(slots=True)
class Checked:
    """How many messages of a conversation have passed their check, over all its prompts; not the system's."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of one request; `origins[i]` is the record behind `messages[i]`.

    `media` says where messages stand that show what is kept in blobs. `previous` counts the messages that the
    lane's request before had.
    """

    messages: tuple[Message, ...]
    origins: tuple[Origin, ...]
    media: tuple[int, ...] = ()
    has_system: bool = False
    previous: int = 0
    checked: Checked = field(default_factory=Checked, repr=False, compare=False)

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Behind which messages a prompt may be cached: the system's, the last request's, the last."""
        ends = {0 if self.has_system else None, self.previous - 1, len(self.messages) - 1}
        return tuple(sorted(end for end in ends if end is not None and end >= 0))

    def check(self) -> PromptFault | None:
        """The first fault among the messages that no prompt before had."""
        start = self.checked.count + self.has_system
        try:
            check_conversation(self.messages[start:])
        except ConversationError as error:
            # What is missing at the end is missing behind the last message.
            origin = self.origins[min(start + error.index, len(self.origins) - 1)]
            return PromptFault(origin.run_id, origin.seq, error.detail)
        self.checked.count = len(self.messages) - self.has_system
        return None
