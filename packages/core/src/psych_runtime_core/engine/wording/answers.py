"""What a model is told of an answer that must fit a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psych_runtime_core.engine.wording.phrases import MAX_TEXT, listed, sentence, told
from psych_runtime_core.errors import Violation
from psych_runtime_core.jsonvalue import Json, json_text
from psych_runtime_core.records.base import cut

ANSWER_FAULTS_SHOWN = 10


def answer_tool() -> str:
    """The description of the tool by which an answer is given."""
    return (
        "Gives the final answer, and ends the work. Call it once, alone, when all else is done:"
        " its arguments are the answer."
    )


def answer_block(schema: Mapping[str, Json]) -> str:
    """The end of a system prompt that asks for an answer in JSON."""
    return (
        "Your final answer must be one JSON value that fits the JSON Schema below."
        " Write that value alone, with no text before or after it.\n" + json_text(schema)
    )


def answer_not_alone() -> str:
    return told(
        "The final answer came beside other calls, so it was not taken. The other calls were carried out.",
        "Giving it beside other calls will be refused again.",
        "Read their results first, then give the final answer alone.",
    )


def answer_refused(faults: Sequence[Violation]) -> str:
    """Of an answer given by a call."""
    return told(
        f"The final answer does not fit its schema: {_told_faults(faults)}",
        "The same answer will be refused again.",
        "Correct it, and call the tool again with all of it.",
    )


def answer_repair(faults: Sequence[Violation]) -> str:
    """Of an answer given as text: the message that sends it back."""
    text = told(
        f"Your answer does not fit the JSON Schema it must fit: {_told_faults(faults)}",
        "The same answer will be sent back again.",
        "Answer once more with the whole JSON value, corrected, and nothing else.",
    )
    return cut(text, MAX_TEXT)


def lane_schema_violation(faults: Sequence[Violation] = ()) -> str:
    """`faults` are those of the last answer, where it was a text."""
    return told(
        f"The answer does not fit the Spec's output_schema{': ' + _told_faults(faults) if faults else '.'}",
        "It was sent back as often as allowed, so the same Run will most likely end the same way.",
        "Simplify the schema, raise output_retries, or use another model.",
    )


def lane_refusal() -> str:
    return told(
        "The model refused to answer, and a refusal cannot fit the Spec's output_schema.",
        "The same Run will most likely end the same way.",
        "Read its words in the thread, then change the input or the instructions.",
    )


def _told_faults(faults: Sequence[Violation]) -> str:
    return sentence(listed(faults, ANSWER_FAULTS_SHOWN))
