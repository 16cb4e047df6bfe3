"""How a text is made."""

from __future__ import annotations

from collections.abc import Sequence

from psych_runtime_core.records.base import cut

# What a failure keeps of its message, and a Wait of its question.
MAX_TEXT = 8_192
# A provider takes no longer name of a tool.
NAME_SHOWN = 64


def told(happened: str, again: str, instead: str) -> str:
    """The three parts in one text; what happened is cut where the whole would not be kept."""
    advice = f" {again} {instead}"
    return cut(happened, MAX_TEXT - len(advice)) + advice


def in_vain(happened: str) -> str:
    return told(happened, "Doing it again does its work again and ends the same way.", "Ask it for less.")


def listed(faults: Sequence[object], most: int) -> str:
    """The first `most` faults, and that there are more where there are."""
    shown = "; ".join(map(str, faults[:most]))
    return shown + ("; and more" if len(faults) > most else "")


def sentence(text: str) -> str:
    ended = text.rstrip()
    return ended if ended.endswith((".", "!", "?", "…")) else f"{ended}."


def lead(reason: str) -> str:
    return f"{sentence(reason)} " if reason.strip() else ""


def quoted(name: str) -> str:
    return repr(cut(name, NAME_SHOWN))


def counted(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
