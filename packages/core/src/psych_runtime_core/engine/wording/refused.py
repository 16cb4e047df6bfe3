"""What is told of a call of which nothing ran."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from psych_runtime_core.engine.wording.phrases import (
    NAME_SHOWN,
    counted,
    lead,
    listed,
    quoted,
    sentence,
    told,
)

NAMES_SHOWN = 20
FAULTS_SHOWN = 20
RAW_SHOWN = 200


def unknown_tool(name: str, names: Sequence[str]) -> str:
    """`names` are those offered now; the nearest are shown."""
    happened = f"There is no tool {quoted(name)} now."
    if not names:
        return told(happened, "Calling it again does not help.", "Go on without tools: none is offered.")
    near = get_close_matches(name[:NAME_SHOWN], names, n=NAMES_SHOWN, cutoff=0.0)
    return told(happened, "Calling it again does not help.", f"Use one of these: {', '.join(near)}.")


def malformed_arguments(fault: str, raw: str) -> str:
    """`fault` says what is wrong and where in `raw`, the arguments as the model wrote them."""
    return told(
        f"{sentence(fault)} The arguments are not one JSON object; they begin: {raw[:RAW_SHOWN]!r}.",
        "The same text will be refused again.",
        "Send exactly one JSON object that fits the tool's schema.",
    )


def arguments_too_large(size_bytes: int, limit_bytes: int) -> str:
    return told(
        f"The arguments have {size_bytes} bytes, the limit is {limit_bytes}, so the call was not run.",
        "The same call will be refused again.",
        "Send one JSON object that is smaller, or do the work in several calls.",
    )


def invalid_arguments(faults: Sequence[str]) -> str:
    """`faults` read `field: what is wrong`; the first ones are shown."""
    return told(
        f"{sentence(listed(faults, FAULTS_SHOWN))} The call was not run.",
        "The same arguments will be refused again.",
        "Correct them, and send one JSON object that fits the tool's schema.",
    )


def access_denied(tool: str, reason: str = "") -> str:
    return told(
        f"{lead(reason)}The tool {quoted(tool)} is not allowed here, so the call was not run.",
        "Do not try it again.",
        "Do the work without it, or say that you cannot.",
    )


def budget_exhausted() -> str:
    return told(
        "The budget of tool calls is spent, so this call was not run.",
        "No further call will be run.",
        "Answer with what you have.",
    )


def filtered_call() -> str:
    return told(
        "The provider's content filter cut the answer that asked for this call, so it was not run.",
        "The same words would be filtered again.",
        "Ask for it in other words.",
    )


def denied(reason: str = "") -> str:
    """`reason` is what the person gave, in their words."""
    return told(
        f"{lead(reason)}A person refused this call, so it was not run.",
        "Do not ask for the same thing again.",
        "Find another way, or say what you cannot do.",
    )


def approval_stale() -> str:
    return told(
        "What this call would do has changed since a person approved it, so it was not run.",
        "Calling it again can help: a person is asked anew.",
        "Call it once more if it is still needed.",
    )


def failure_streak(tool: str, times: int) -> str:
    return told(
        f"{quoted(tool)} failed {times} times in a row, so this call was not run.",
        "Calling it again now does not help.",
        "Go another way in this turn.",
    )


def repeated_call(times: int) -> str:
    return told(
        f"The same call gave the same answer {counted(times)}, so it was not run again.",
        "Calling it again will not change that.",
        "Go on with the answer it gave.",
    )


def too_many_calls(limit: int) -> str:
    return told(
        f"This turn asked for more than {limit} calls, and only the first {limit} were run.",
        "It can be called again.",
        "Ask for the rest in the next turn.",
    )


def truncated_call() -> str:
    return told(
        "The answer was cut off at its length limit before the call was whole, so it was not run.",
        "The same answer would be cut off again.",
        "Make the call with shorter arguments, or do the work in parts.",
    )
