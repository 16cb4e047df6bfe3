"""The header that a log implies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import Entry, Record
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.state.implied import implied_by
from psych_runtime_core.state.run import RunStateView


def implied_header(
    entries: Sequence[Entry], last: Record | None, state: RunStateView, **fields: Any
) -> RunHeader:
    """The header of the Run of `entries`, which fold to `state`; `fields` are said otherwise.

    `last` is the last record that can be read. Who asked for the Run, and how, no log says.
    """
    epoch, is_settled = max(entry.epoch for entry in entries), isinstance(last, RunSettled)
    otherwise = {
        "scope": state.scope,
        "name": "test",
        "request": bytes(32),
        "ready_at": None if epoch or is_settled else entries[0].at,
        "epoch": epoch,
    }
    return RunHeader.model_validate({**otherwise, **implied_by(entries, last, state), **fields})
