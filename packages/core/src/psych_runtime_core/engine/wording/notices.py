"""What a model is told at one moment only."""

from __future__ import annotations

from collections.abc import Sequence

from psych_runtime_core.engine.wording.phrases import quoted


def withheld(tools: Sequence[str]) -> str:
    """Tools that failed too often in a row."""
    named = ", ".join(map(quoted, tools))
    return f"Not to be called in this turn, since it failed again and again: {named}. Find another way."


def last_turn() -> str:
    return "This is the last turn: no call that is made now will be answered. Give the final answer."


def few_left(turns: int, calls: int) -> str:
    """How many turns there are after this one, and how many calls may still be made."""
    return (
        f"Left after this one: {_count(turns, 'turn')}; {_count(calls, 'tool call')} in all. Come to an end."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
