"""What a model is told at one moment only: which tools are withheld, and how much it may still do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psych_runtime_core.engine import wording
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.messages import Message, Part, TextPart, ToolResultMessage, UserMessage
from psych_runtime_core.state.lane import LaneState

# From so few on, what is left is worth a word.
FEW_LEFT = 2


def notices_of(plan: Plan, lane: LaneState) -> tuple[str, ...]:
    """The notices of the turn that `lane` is in, a function of its state alone."""
    return tuple(_notices(plan, lane))


def with_notices(message: Message, notices: Sequence[str]) -> Message:
    """`message` with the notices at its end; an answer of the model's own takes none."""
    if not notices or not isinstance(message, UserMessage | ToolResultMessage):
        return message
    told = "\n\n" + "\n".join(f"[{notice}]" for notice in notices)
    return message.model_copy(update={"content": _ending_with(told, message.content)})


def _ending_with(told: str, content: str | tuple[Part, ...]) -> str | tuple[Part, ...]:
    return content + told if isinstance(content, str) else (*content, TextPart(text=told.strip()))


def _notices(plan: Plan, lane: LaneState) -> Iterator[str]:
    limits = plan.limits
    withheld = sorted(
        tool
        for tool, streak in lane.streaks.items()
        if streak.count >= limits.failure_streak_threshold and streak.turn == lane.turn - 1
    )
    if withheld:
        yield wording.withheld(withheld)
    turns, calls = limits.max_turns - lane.turn, limits.max_steps - lane.calls_started
    if turns == 0 or calls <= 0:
        yield wording.last_turn()
    elif min(turns, calls) <= FEW_LEFT and lane.turn > 1:
        yield wording.few_left(turns, calls)
