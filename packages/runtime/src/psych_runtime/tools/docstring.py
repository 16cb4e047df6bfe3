"""The two things that are read of a docstring: its first paragraph and its `Args:`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

_ENTRY = re.compile(r"(?P<name>\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)")


def first_paragraph(docstring: str | None) -> str:
    """The lines before the first blank one, as one line; of a docstring that begins with `Args:`, none."""
    paragraph = inspect.cleandoc(docstring or "").partition("\n\n")[0]
    lines = [line.strip() for line in paragraph.splitlines()]
    return "" if lines[:1] == ["Args:"] else " ".join(lines)


def texts_of_args(docstring: str | None) -> dict[str, str]:
    """What stands under `Args:`, by parameter: `name: text`, continued by lines that are indented deeper."""
    texts: dict[str, list[str]] = {}
    name, edge = "", None
    for indent, line in _section(inspect.cleandoc(docstring or ""), "Args:"):
        edge = indent if edge is None else edge
        entry = _ENTRY.fullmatch(line) if indent <= edge else None
        if entry:
            name = entry["name"].lstrip("*")
            texts[name] = [entry["text"]]
        elif name:
            texts[name].append(line)
    return {name: " ".join(filter(None, lines)) for name, lines in texts.items()}


def _section(text: str, header: str) -> Iterator[tuple[int, str]]:
    """The lines below `header`, each with its indent, up to the next line that is indented no deeper."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.expandtabs().splitlines()]
    start = next((at for at, (_, line) in enumerate(lines) if line == header), len(lines))
    for indent, line in lines[start + 1 :]:
        if line and indent <= lines[start][0]:
            return
        if line:
            yield indent, line
