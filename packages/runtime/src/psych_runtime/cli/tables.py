"""Results as rows of cells, in columns that are aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from psych_runtime.cli.output import Output, one_line


class Table:
    """Prints rows as they come. A column is as wide as the widest cell so far; no cell is ever cut.

    `states` is the column of the state words.
    """

    def __init__(self, output: Output, *, states: int | None = None) -> None:
        self._output, self._states = output, states
        self._widths: list[int] = []

    def add(self, rows: Iterable[Sequence[str]]) -> None:
        """Print rows, aligned with each other."""
        shown = [[one_line(cell) for cell in row] for row in rows]
        self._widths = [max(column) for column in zip_longest(self._widths, *_lengths(shown), fillvalue=0)]
        for row in shown:
            cells = [self._cell(column, cell) for column, cell in enumerate(row)]
            print("  ".join(cells).rstrip(), flush=True)

    def _cell(self, column: int, cell: str) -> str:
        word = self._output.word(cell) if column == self._states else cell
        return word + " " * (self._widths[column] - len(cell))


def _lengths(rows: Iterable[Iterable[str]]) -> list[list[int]]:
    return [[len(cell) for cell in row] for row in rows]
