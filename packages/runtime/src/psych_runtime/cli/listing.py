"""A list of any length, told as it comes: rows of a table, or one JSON document."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from psych_runtime.cli.output import Output, json_text
from psych_runtime.cli.tables import Table
from psych_runtime_core.views.json import as_json


class Told:
    """The items that `--json` prints in a list called `name`, or the rows that stand for them.

    `states` is the column of the state words.
    """

    def __init__(self, output: Output, schema: str, name: str, *, states: int | None = None) -> None:
        self._document = Listing(schema, name) if output.json else None
        self._table = Table(output, states=states)

    def add(self, items: Iterable[object], rows: Iterable[Sequence[str]]) -> None:
        """Print more of them, one way or the other."""
        if self._document is not None:
            self._document.add(items)
        else:
            self._table.add(rows)

    def end(self, **rest: object) -> None:
        """Close the document, with what stands behind its list. A table has no end."""
        if self._document is not None:
            self._document.end(**rest)


class Listing:
    """`{"schema": …, name: [ … ], …}`, on one line. It is one document once it has come to its `end`."""

    def __init__(self, schema: str, name: str) -> None:
        self._begin = f"{json_text({'schema': schema})[:-1]}, {json_text(name)}: ["
        self._begun = False

    def add(self, items: Iterable[object]) -> None:
        """Print items of the list."""
        for item in items:
            self._write((", " if self._begun else self._begin) + json_text(as_json(item)))
            self._begun = True

    def end(self, **rest: object) -> None:
        """Close the list, and print what stands behind it."""
        fields = "".join(f", {json_text(name)}: {json_text(as_json(value))}" for name, value in rest.items())
        self._write(("" if self._begun else self._begin) + f"]{fields}}}\n")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
