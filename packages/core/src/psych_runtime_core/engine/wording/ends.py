"""What people are told of a lane or a Run that ended without an answer."""

from __future__ import annotations

from psych_runtime_core.engine.wording.phrases import counted, lead, sentence, told


def lane_failure_streak(times: int) -> str:
    return told(
        f"A tool failed {times} times in a row, and the agent was stopped.",
        "The same Run will most likely end the same way.",
        "Look at the tool's failures in the report.",
    )


def lane_repeated_call(times: int) -> str:
    return told(
        f"The agent got the same answer to the same call {times} times, and was stopped.",
        "The same Run will most likely end the same way.",
        "Change the instructions, or what the tool answers.",
    )


def lane_budget_exhausted() -> str:
    return told(
        "The agent used up its turns or its tool calls before it had an answer.",
        "The same Run may need as many again.",
        "Raise max_turns or max_steps in the Spec, or ask for less.",
    )


def output_truncated() -> str:
    return told(
        "The model's answer was cut off at its length limit.",
        "The same request will most likely be cut off again.",
        "Raise the model's output limit in the Spec, or ask for a shorter answer.",
    )


def output_filtered() -> str:
    return told(
        "The model's answer was cut by the provider's content filter.",
        "The same request will most likely be filtered again.",
        "Change the input or the instructions.",
    )


def deadline() -> str:
    return told(
        "The deadline passed before there was an answer, and the Run was stopped.",
        "What it did until then stands; a new Run begins from the start.",
        "Dispatch one with a longer deadline, or ask for less.",
    )


def suspension_expired() -> str:
    return told(
        "Nobody answered a Wait of this Run before it expired, and the Run was given up.",
        "A late answer is no longer taken; a new Run asks again.",
        "Dispatch one, or give people longer to answer.",
    )


def bad_input(detail: str) -> str:
    """`detail` says which parts of the input do not fit the Spec's `input_schema`."""
    return told(
        f"The input does not fit the Spec's input_schema: {sentence(detail)} Nothing was started.",
        "The same input will be refused again.",
        "Dispatch a Run with an input that fits.",
    )


def run_denied(reason: str = "") -> str:
    """`reason` is the Policy's."""
    return told(
        f"{lead(reason)}The Policy does not allow this Run, so nothing was started.",
        "Dispatching it again does not help while the Policy stays as it is.",
        "Ask whoever sets the Policy.",
    )


def erased() -> str:
    return told(
        "The content of this Run was erased before it had an answer.",
        "It cannot go on.",
        "Dispatch a new Run.",
    )


def force_settled() -> str:
    return told(
        "The Run was stopped, and a tool call that would not end was left alone.",
        "The effect of that call may stand.",
        "Check what became of the calls that the report shows as unknown.",
    )


def attempts_exhausted(crashes: int) -> str:
    return told(
        f"The Run was given up: its Worker died {counted(crashes)} without finishing anything.",
        "Another Attempt will most likely end the same way.",
        "Look for what ends the process (memory, a native crash), then dispatch a new Run.",
    )


def attempt_failed() -> str:
    return told(
        "An error inside psych-runtime ended the Run.",
        "A new Run may end the same way.",
        "Report it with the traceback that operators find beside this text.",
    )


def store_lost_entries(ours: int, theirs: int) -> str:
    """The seq at which this Worker's log ended, and the one at which the stored log ends."""
    return told(
        f"The store lost what it had acknowledged: the log was written to seq {ours} and ends at {theirs}.",
        "The Run cannot go on: what it did in between may stand and is not recorded.",
        "Check its effects, and the store's durability, before you dispatch a new Run.",
    )
