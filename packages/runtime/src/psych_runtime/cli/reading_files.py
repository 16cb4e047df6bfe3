"""Files that the command line names, read line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from psych_runtime.api.export_file import MAX_LINE_BYTES


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, each with its end. One too long comes in pieces, which its reader refuses."""
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES + 1):
            yield line
