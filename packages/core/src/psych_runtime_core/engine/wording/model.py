"""What is told of a model call that gave no answer."""

from __future__ import annotations

from psych_runtime_core.engine.wording.phrases import told


def empty_response() -> str:
    return told(
        "The model answered with neither text nor a call.",
        "Asking it again may help.",
        "If it stays silent, use another model or change the prompt.",
    )


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
