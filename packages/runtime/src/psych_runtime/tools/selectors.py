"""Which calls need a person, as the deployment says it."""

from __future__ import annotations

from collections.abc import Iterable

from psych_runtime_core.messages import ToolClass, ToolDefinition, class_of
from psych_runtime_core.spec.grants import narrow


class Selectors:
    """`@read-only`, `@write`, `@destructive` take that class and every higher one; else a tool pattern.

    A leading `-` exempts, and exemption wins. `ValueError`: an unknown `@word`, a class without its `@`.
    """

    def __init__(self, words: Iterable[str]) -> None:
        if isinstance(words, str):
            raise TypeError(f"approval_selectors is a sequence of texts; write ({words!r},)")
        self._taking = [_checked(word) for word in words if not word.startswith("-")]
        self._exempting = [_checked(word[1:]) for word in words if word.startswith("-")]

    def take(self, tool: ToolDefinition) -> bool:
        """Whether a person is asked before `tool` runs."""
        return _any(self._taking, tool) and not _any(self._exempting, tool)


def _any(selectors: Iterable[str], tool: ToolDefinition) -> bool:
    return any(_takes(selector, tool) for selector in selectors)


def _takes(selector: str, tool: ToolDefinition) -> bool:
    if selector.startswith("@"):
        return class_of(tool).rank >= ToolClass(selector[1:]).rank
    return bool(narrow((tool.name,), granted=(selector,)))


def _checked(selector: str) -> str:
    classes = [f"@{one.value}" for one in ToolClass]
    if selector.startswith("@") and selector not in classes:
        raise ValueError(f"approval selector {selector!r} names no class; write one of {', '.join(classes)}")
    if f"@{selector}" in classes:
        raise ValueError(f"approval selector {selector!r} would be a tool of that name; write '@{selector}'")
    return selector
