"""The header that a log implies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import Entry, Record
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.state.fold import facts_of
from psych_runtime_core.state.run import RunStateView


def implied_header(
    entries: Sequence[Entry], last: Record | None, state: RunStateView, **fields: Any
) -> RunHeader:
    """The header of the Run of `entries`, which fold to `state`; `fields` are said otherwise.

    `last` is the last record that can be read. Who asked for the Run, and how, no log says.
    """
    settled = last if isinstance(last, RunSettled) else None
    epoch = max(entry.epoch for entry in entries)
    implied = {
        "run_id": state.run_id,
        "scope": state.scope,
        "name": "test",
        "request": bytes(32),
        "root_run_id": state.run_id,
        "created_at": entries[0].at,
        "head": entries[-1].head,
        "terminal": settled and settled.state,
        "settled_at": settled and settled.at,
        "ready_at": None if epoch or settled else entries[0].at,
        "epoch": epoch,
    }
    return RunHeader.model_validate({**implied, **asdict(facts_of(state)), **fields})
