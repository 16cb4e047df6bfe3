"""How `psych show` tells a Run: as text for people, or as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from psych_runtime.cli import summary
from psych_runtime.cli.conversation import rows_of
from psych_runtime.cli.headers import listed
from psych_runtime.cli.output import Output, Row
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import Record
from psych_runtime_core.records.tree import instant, plain
from psych_runtime_core.version import Version
from psych_runtime_core.views.answer import answer_of
from psych_runtime_core.views.json import as_json
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.report import report_of
from psych_runtime_core.views.status import status_of
from psych_runtime_core.views.thread import thread_of


class Teller(Protocol):
    """Is told what a Run's log holds, record by record, and prints it."""

    def begin(self, view: RunProjection, version: Version) -> None:
        """`view` holds all that stood in the log at first."""
        ...

    def tell(self, view: RunProjection, record: Record) -> None:
        """A record that `view` holds."""
        ...

    def end(self, view: RunProjection, version: Version, children: Iterable[RunHeader] | None) -> None:
        """No other record comes. `children` are told where they were asked for."""
        ...


class TextTeller:
    """Header, conversation or records, answer, totals. `command` shows this Run again.

    `hidden` is the word for what is sealed or erased.
    """

    def __init__(self, output: Output, command: str, hidden: str, *, records: bool) -> None:
        self._output, self._command, self._hidden, self._records = output, command, hidden, records

    def begin(self, view: RunProjection, version: Version) -> None:
        self._rows(summary.header(status_of(view), version))
        self._output.heading("records" if self._records else "conversation")

    def tell(self, view: RunProjection, record: Record) -> None:
        rows = (record_row(record),) if self._records else rows_of(view, record, self._hidden)
        self._rows(rows, indent="  ")

    def end(self, view: RunProjection, version: Version, children: Iterable[RunHeader] | None) -> None:
        self._output.heading("outcome")
        hidden = self._hidden if view.state.erased else None
        self._rows(summary.outcome(answer_of(view), hidden), indent="  ")
        self._rows(summary.waits(status_of(view)), indent="  ")
        self._rows(summary.totals(report_of(view, version), view.state.parked_since), indent="  ")
        if children is not None:
            self._output.heading("children")
            self._rows((child_row(child) for child in children), indent="  ")
        if view.state.settled is None:
            self._output.hint(f"the Run goes on; to see the rest as it comes: {self._command} --follow")

    def _rows(self, rows: Iterable[Row], indent: str = "") -> None:
        self._output.rows(rows, rest=f"{self._command} --json", indent=indent)


class JsonTeller:
    """One document with every view; when `live`, a line for each record comes before it."""

    def __init__(self, output: Output, *, live: bool, records: bool) -> None:
        self._output, self._live, self._records = output, live, records
        self._told: list[Any] = []

    def begin(self, view: RunProjection, version: Version) -> None:
        """The document says it all at the end."""

    def tell(self, view: RunProjection, record: Record) -> None:
        del view
        if self._live:
            self._output.document("psych.record/1", {"record": plain(record)})
        elif self._records:
            self._told.append(plain(record))

    def end(self, view: RunProjection, version: Version, children: Iterable[RunHeader] | None) -> None:
        views = {
            "status": as_json(status_of(view)),
            "answer": as_json(answer_of(view)),
            "thread": as_json(thread_of([view])),
            "report": as_json(report_of(view, version)),
        }
        records = self._told if self._records and not self._live else None
        below = None if children is None else list(map(listed, children))
        self._output.document("psych.run/1", {**views, "records": records, "children": below})


def child_row(child: RunHeader) -> Row:
    """A Run that this one began, or one of those did."""
    return Row(child.run_id, f"{child.name}, depth {child.delegation_depth}", child.lifecycle)


def record_row(record: Record) -> Row:
    """A record on one line: its seq, when, what, and under which lease epoch in which lane."""
    lane = f"  lane {record.lane}" if record.lane else ""
    return Row(f"{record.seq:>10}", f"{instant(record.at)}  {record.type:<19}  epoch {record.epoch}{lane}")
