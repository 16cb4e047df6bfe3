"""What is told of a call that ran, and what stands before a result."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime_core.engine.wording.phrases import MAX_TEXT, in_vain, lead, quoted, sentence, told
from psych_runtime_core.jsonvalue import json_text
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.records.base import cut

ANSWER_SHOWN = 2_000
ONCE_MORE = "Calling it once more may help."


def failed(message: str, *, transient: bool, may_stand: bool = False) -> str:
    """`message` is the tool's own; `may_stand`: what it was to do may be done."""
    happened = sentence(message if message.strip() else "The tool failed and gave no reason")
    if may_stand:
        again = "The call may have taken effect all the same: do not repeat it before you know."
        return told(happened, again, "Check first whether it did; if you cannot check, say so.")
    if transient:
        return told(happened, ONCE_MORE, "If it fails again, go another way.")
    again = "The same call will most likely fail again."
    return told(happened, again, "Change something first, or go another way.")


def failed_in_a_row(message: str, times: int) -> str:
    """`message` is the whole text of a failure that reaches the streak's threshold."""
    return told(
        sentence(message),
        f"That is {times} failures of this tool in a row, and it is withheld for the next turn.",
        "Change your approach.",
    )


def timed_out(seconds: float) -> str:
    return told(
        f"The tool had no result after {seconds:g} seconds, its limit, and was stopped.",
        "The same call will most likely take as long again.",
        "Ask it for less, or go on without it.",
    )


def result_not_serialisable(fault: str) -> str:
    """`fault` names the type, and its place in the result."""
    return in_vain(f"{sentence(fault)} The tool did run, but its result is no JSON and could not be kept.")


def result_too_large(limit_bytes: int) -> str:
    return in_vain(f"The tool did run, but its result has over {limit_bytes} bytes and could not be kept.")


def too_many_files(limit: int) -> str:
    return in_vain(f"The tool did run, but its result has over {limit} files and could not be kept.")


def blob_store_required(size_bytes: int, limit_bytes: int, preview: str) -> str:
    """`preview` is the first part of the result, as text."""
    advice = in_vain(
        f"The tool did run, but its result has {size_bytes} bytes, and without a blob store"
        f" at most {limit_bytes} are kept."
    )
    return f"{advice} The first part of it:\n{cut(preview, ANSWER_SHOWN)}"


def blob_store_away(size_bytes: int, preview: str) -> str:
    """`preview` is the first part of the result, as text."""
    advice = told(
        f"The tool did run, but the store that would keep its result of {size_bytes} bytes is away.",
        "Doing it again does its work again, and its result may be kept then.",
        "Repeat it only where that does no harm, or ask it for less.",
    )
    return f"{advice} The first part of it:\n{cut(preview, ANSWER_SHOWN)}"


def result_unkept(size_bytes: int, preview: str) -> str:
    """`preview` is the first part of the result, as text."""
    advice = in_vain(f"The tool did run, but its result of {size_bytes} bytes could not be kept.")
    return f"{advice} The first part of it:\n{cut(preview, ANSWER_SHOWN)}"


def blob_missing(handle: str) -> str:
    return told(
        f"What was kept as {quoted(handle)} is gone.",
        "Reading it again ends the same way.",
        "Go on without it, or call the tool that gave it again where that does no harm.",
    )


def output_away(handle: str) -> str:
    return failed(f"What is kept as {quoted(handle)} cannot be read now", transient=True)


def given_up() -> str:
    return told(
        "The call did not end in the time it was given to stop, and was left alone.",
        "Its effect may stand, so do not repeat it unseen.",
        "Check first whether it took effect.",
    )


def edited(arguments: Mapping[str, object]) -> str:
    """The lead-in of a result whose arguments a person changed."""
    changed = json_text(arguments)
    return f"A person changed the arguments of this call to {changed}. This is the result of that:\n"


def known_answer(answer: str) -> str:
    """What follows the refusal of a repeated call."""
    return f"\nThe answer it gave: {cut(answer, ANSWER_SHOWN)}"


def approval_question(tool: str, tool_class: ToolClass, reason: str = "") -> str:
    """What a person is asked before a call may run."""
    question = f"May {quoted(tool)} ({tool_class.value}) run with these arguments?"
    return cut(f"{question} {lead(reason)}".rstrip(), MAX_TEXT)
