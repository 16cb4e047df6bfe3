"""Every sentence a model is told about its calls, and people about a Run that ended without an answer.

A text says what happened, in the words it came in where there are any; whether doing it again can help;
and what to do instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from psych_runtime_core.jsonvalue import json_text
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.records.base import cut

# What a failure keeps of its message, and a Wait of its question.
MAX_TEXT = 8_192
NAMES_SHOWN = 20
FAULTS_SHOWN = 20
# A provider takes no longer name of a tool.
NAME_SHOWN = 64
RAW_SHOWN = 200
ANSWER_SHOWN = 2_000
ONCE_MORE = "Calling it once more may help."


# --- a call of which nothing ran -------------------------------------------------------------------------


def unknown_tool(name: str, names: Sequence[str]) -> str:
    """`names` are those offered now; the nearest are shown."""
    happened = f"There is no tool {_quoted(name)} now."
    if not names:
        return _told(happened, "Calling it again does not help.", "Go on without tools: none is offered.")
    near = get_close_matches(name[:NAME_SHOWN], names, n=NAMES_SHOWN, cutoff=0.0)
    return _told(happened, "Calling it again does not help.", f"Use one of these: {', '.join(near)}.")


def malformed_arguments(fault: str, raw: str) -> str:
    """`fault` says what is wrong and where in `raw`, the arguments as the model wrote them."""
    return _told(
        f"{_sentence(fault)} The arguments are not one JSON object; they begin: {raw[:RAW_SHOWN]!r}.",
        "The same text will be refused again.",
        "Send exactly one JSON object that fits the tool's schema.",
    )


def arguments_too_large(size_bytes: int, limit_bytes: int) -> str:
    return _told(
        f"The arguments have {size_bytes} bytes, the limit is {limit_bytes}, so the call was not run.",
        "The same call will be refused again.",
        "Send one JSON object that is smaller, or do the work in several calls.",
    )


def invalid_arguments(faults: Sequence[str]) -> str:
    """`faults` read `field: what is wrong`; the first ones are shown."""
    more = len(faults) - FAULTS_SHOWN
    shown = "; ".join(faults[:FAULTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
    return _told(
        f"{_sentence(shown)} The call was not run.",
        "The same arguments will be refused again.",
        "Correct them, and send one JSON object that fits the tool's schema.",
    )


def access_denied(tool: str, reason: str = "") -> str:
    return _told(
        f"{_lead(reason)}The tool {_quoted(tool)} is not allowed here, so the call was not run.",
        "Do not try it again.",
        "Do the work without it, or say that you cannot.",
    )


def budget_exhausted() -> str:
    return _told(
        "The budget of tool calls is spent, so this call was not run.",
        "No further call will be run.",
        "Answer with what you have.",
    )


def filtered_call() -> str:
    return _told(
        "The provider's content filter cut the answer that asked for this call, so it was not run.",
        "The same words would be filtered again.",
        "Ask for it in other words.",
    )


def denied(reason: str = "") -> str:
    """`reason` is what the person gave, in their words."""
    return _told(
        f"{_lead(reason)}A person refused this call, so it was not run.",
        "Do not ask for the same thing again.",
        "Find another way, or say what you cannot do.",
    )


def approval_stale() -> str:
    return _told(
        "What this call would do has changed since a person approved it, so it was not run.",
        "Calling it again can help: a person is asked anew.",
        "Call it once more if it is still needed.",
    )


def failure_streak(tool: str, times: int) -> str:
    return _told(
        f"{_quoted(tool)} failed {times} times in a row, so this call was not run.",
        "Calling it again now does not help.",
        "Go another way in this turn.",
    )


def repeated_call(times: int) -> str:
    return _told(
        f"The same call gave the same answer {_times(times)}, so it was not run again.",
        "Calling it again will not change that.",
        "Go on with the answer it gave.",
    )


def too_many_calls(limit: int) -> str:
    return _told(
        f"This turn asked for more than {limit} calls, and only the first {limit} were run.",
        "It can be called again.",
        "Ask for the rest in the next turn.",
    )


def truncated_call() -> str:
    return _told(
        "The answer was cut off at its length limit before the call was whole, so it was not run.",
        "The same answer would be cut off again.",
        "Make the call with shorter arguments, or do the work in parts.",
    )


# --- a call that ran ---------------------------------------------------------------------------------------


def failed(message: str, *, transient: bool) -> str:
    """`message` is the tool's own."""
    happened = _sentence(message if message.strip() else "The tool failed and gave no reason")
    if transient:
        return _told(happened, ONCE_MORE, "If it fails again, go another way.")
    again = "The same call will most likely fail again."
    return _told(happened, again, "Change something first, or go another way.")


def failed_in_a_row(message: str, times: int) -> str:
    """`message` is the whole text of a failure that reaches the streak's threshold."""
    return _told(
        _sentence(message),
        f"That is {times} failures of this tool in a row, and it is withheld for the next turn.",
        "Change your approach.",
    )


def timed_out(seconds: float) -> str:
    return _told(
        f"The tool had no result after {seconds:g} seconds, its limit, and was stopped.",
        "The same call will most likely take as long again.",
        "Ask it for less, or go on without it.",
    )


def result_not_serialisable(fault: str) -> str:
    """`fault` names the type, and its place in the result."""
    return _ran(f"{_sentence(fault)} The tool did run, but its result is no JSON and could not be kept.")


def result_too_large(limit_bytes: int) -> str:
    return _ran(f"The tool did run, but its result has more than {limit_bytes} bytes and could not be kept.")


def blob_store_required(size_bytes: int, limit_bytes: int, preview: str) -> str:
    """`preview` is the first part of the result, as text."""
    advice = _ran(
        f"The tool did run, but its result has {size_bytes} bytes, and without a blob store"
        f" at most {limit_bytes} are kept."
    )
    return f"{advice} The first part of it:\n{cut(preview, ANSWER_SHOWN)}"


def given_up() -> str:
    return _told(
        "The call did not end in the time it was given to stop, and was left alone.",
        "Its effect may stand, so do not repeat it unseen.",
        "Check first whether it took effect.",
    )


# --- what stands before a result ---------------------------------------------------------------------------


def edited(arguments: Mapping[str, object]) -> str:
    """The lead-in of a result whose arguments a person changed."""
    changed = json_text(arguments)
    return f"A person changed the arguments of this call to {changed}. This is the result of that:\n"


def known_answer(answer: str) -> str:
    """What follows the refusal of a repeated call."""
    return f"\nThe answer it gave: {cut(answer, ANSWER_SHOWN)}"


def approval_question(tool: str, tool_class: ToolClass, reason: str = "") -> str:
    """What a person is asked before a call may run."""
    question = f"May {_quoted(tool)} ({tool_class.value}) run with these arguments?"
    return cut(f"{question} {_lead(reason)}".rstrip(), MAX_TEXT)


# --- a model call that gave no answer ----------------------------------------------------------------------


def empty_response() -> str:
    return _told(
        "The model answered with neither text nor a call.",
        "Asking it again may help.",
        "If it stays silent, use another model or change the prompt.",
    )


def invalid_prompt(seq: int, detail: str) -> str:
    return _told(
        f"Record {seq} makes a conversation that no provider takes ({detail}), so nothing was sent.",
        "Asking again does not help.",
        "This is a bug of psych-runtime: report it with the log of this Run.",
    )


# --- a lane or a Run that ends without an answer -----------------------------------------------------------


def lane_failure_streak(times: int) -> str:
    return _told(
        f"A tool failed {times} times in a row, and the agent was stopped.",
        "The same Run will most likely end the same way.",
        "Look at the tool's failures in the report.",
    )


def lane_repeated_call(times: int) -> str:
    return _told(
        f"The agent got the same answer to the same call {times} times, and was stopped.",
        "The same Run will most likely end the same way.",
        "Change the instructions, or what the tool answers.",
    )


def lane_budget_exhausted() -> str:
    return _told(
        "The agent used up its turns or its tool calls before it had an answer.",
        "The same Run may need as many again.",
        "Raise max_turns or max_steps in the Spec, or ask for less.",
    )


def output_truncated() -> str:
    return _told(
        "The model's answer was cut off at its length limit.",
        "The same request will most likely be cut off again.",
        "Raise the model's output limit in the Spec, or ask for a shorter answer.",
    )


def output_filtered() -> str:
    return _told(
        "The model's answer was cut by the provider's content filter.",
        "The same request will most likely be filtered again.",
        "Change the input or the instructions.",
    )


def deadline() -> str:
    return _told(
        "The deadline passed before there was an answer, and the Run was stopped.",
        "What it did until then stands; a new Run begins from the start.",
        "Dispatch one with a longer deadline, or ask for less.",
    )


def suspension_expired() -> str:
    return _told(
        "Nobody answered a Wait of this Run before it expired, and the Run was given up.",
        "A late answer is no longer taken; a new Run asks again.",
        "Dispatch one, or give people longer to answer.",
    )


def bad_input(detail: str) -> str:
    """`detail` says which parts of the input do not fit the Spec's `input_schema`."""
    return _told(
        f"The input does not fit the Spec's input_schema: {_sentence(detail)} Nothing was started.",
        "The same input will be refused again.",
        "Dispatch a Run with an input that fits.",
    )


def run_denied(reason: str = "") -> str:
    """`reason` is the Policy's."""
    return _told(
        f"{_lead(reason)}The Policy does not allow this Run, so nothing was started.",
        "Dispatching it again does not help while the Policy stays as it is.",
        "Ask whoever sets the Policy.",
    )


def erased() -> str:
    return _told(
        "The content of this Run was erased before it had an answer.",
        "It cannot go on.",
        "Dispatch a new Run.",
    )


def force_settled() -> str:
    return _told(
        "The Run was stopped, and a tool call that would not end was left alone.",
        "The effect of that call may stand.",
        "Check what became of the calls that the report shows as unknown.",
    )


def attempts_exhausted(crashes: int) -> str:
    return _told(
        f"The Run was given up: its Worker died {_times(crashes)} without finishing anything.",
        "Another Attempt will most likely end the same way.",
        "Look for what ends the process (memory, a native crash), then dispatch a new Run.",
    )


def attempt_failed() -> str:
    return _told(
        "An error inside psych-runtime ended the Run.",
        "A new Run may end the same way.",
        "Report it with the traceback that operators find beside this text.",
    )


def store_lost_entries(ours: int, theirs: int) -> str:
    """The seq at which this Worker's log ended, and the one at which the stored log ends."""
    return _told(
        f"The store lost what it had acknowledged: the log was written to seq {ours} and ends at {theirs}.",
        "The Run cannot go on: what it did in between may stand and is not recorded.",
        "Check its effects, and the store's durability, before you dispatch a new Run.",
    )


# --- how a text is made ------------------------------------------------------------------------------------


def _told(happened: str, again: str, instead: str) -> str:
    """The three parts in one text; what happened is cut where the whole would not be kept."""
    advice = f" {again} {instead}"
    return cut(happened, MAX_TEXT - len(advice)) + advice


def _ran(happened: str) -> str:
    return _told(happened, "Doing it again does its work again and ends the same way.", "Ask it for less.")


def _sentence(text: str) -> str:
    ended = text.rstrip()
    return ended if ended.endswith((".", "!", "?", "…")) else f"{ended}."


def _lead(reason: str) -> str:
    return f"{_sentence(reason)} " if reason.strip() else ""


def _quoted(name: str) -> str:
    return repr(cut(name, NAME_SHOWN))


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
