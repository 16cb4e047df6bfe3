"""What is told of a model call that gave no answer."""

from __future__ import annotations

from psych_runtime_core.engine.wording.phrases import sentence, told


def empty_response() -> str:
    return told(
        "The model answered with neither text nor a call.",
        "Asking it again may help.",
        "If it stays silent, use another model or change the prompt.",
    )


def retries_spent(message: str, budget: int) -> str:
    """`message` is that of the last failure."""
    return told(
        f"{sentence(message)} The budget of {budget} {'try' if budget == 1 else 'tries'} again is used up.",
        "A new Run may get an answer.",
        "Dispatch one later, or raise transient_retry_budget in the Spec.",
    )


def retry_too_late(message: str, hint: float | None, pause: float, left: float) -> str:
    """Seconds: what the provider asked for, if it did; until the next try; until the deadline."""
    wait = (
        f"The next try would be in {_seconds(pause)}" if hint is None else f"It asks to wait {_seconds(hint)}"
    )
    return told(
        f"{sentence(message)} {wait}, and the deadline is in {_seconds(left)}.",
        "A new Run may get an answer.",
        "Dispatch one later, or with a longer deadline.",
    )


def _seconds(number: float) -> str:
    return f"{round(number, 1):g} s"


def answer_too_large(limit_bytes: int) -> str:
    return told(
        f"The model's answer has more bytes than a record holds ({limit_bytes}), so it could not be kept.",
        "Asking again gives as much.",
        "Ask for less at a time, or for smaller pictures.",
    )


def invalid_prompt(seq: int, detail: str) -> str:
    return told(
        f"Record {seq} makes a conversation that no provider takes ({detail}), so nothing was sent.",
        "Asking again does not help.",
        "This is a bug of psych-runtime: report it with the log of this Run.",
    )
