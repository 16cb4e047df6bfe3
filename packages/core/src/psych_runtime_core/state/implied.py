"""What a log decides of the header of its Run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from psych_runtime_core.records import Entry, Record
from psych_runtime_core.records.run import RunSettled
from psych_runtime_core.state.fold import facts_of
from psych_runtime_core.state.run import RunStateView


def implied_by(entries: Sequence[Entry], last: Record | None, state: RunStateView) -> Mapping[str, Any]:
    """The fields of a header that follow from `entries`, which fold to `state`, by name.

    `last` is the last record that can be read. What content tells is not among them: it may be sealed.
    """
    settled = last if isinstance(last, RunSettled) else None
    return {
        "run_id": state.run_id,
        "root_run_id": state.root_run_id,
        "created_at": entries[0].at,
        "head": entries[-1].head,
        "terminal": settled and settled.state,
        "settled_at": settled and settled.at,
        **asdict(facts_of(state)),
    }
