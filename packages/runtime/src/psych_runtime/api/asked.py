"""A Run as those see it who answer what it asks."""

from __future__ import annotations

from psych_runtime.api.log import LogReader
from psych_runtime_core.ids import WaitId
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Head
from psych_runtime_core.records.wait import Resumed, Suspended
from psych_runtime_core.state.fold import apply, empty


class AskedRun:
    """The folded state, every Wait that ever opened, and the answer that each has got."""

    def __init__(self, store: Store, header: RunHeader) -> None:
        self.header = header
        self.state = empty(header.run_id)
        self.asked: dict[WaitId, Suspended] = {}
        self.answered: dict[WaitId, Resumed] = {}
        self._reader = LogReader(store, header)

    async def catch_up(self) -> None:
        """Fold what was written since. Raises `CorruptLog`, `RecordTooNew`."""
        while page := await self._reader.records():
            for record in page:
                apply(self.state, record)
                if isinstance(record, Suspended):
                    self.asked[record.wait_id] = record
                elif isinstance(record, Resumed):
                    self.answered[record.wait_id] = record

    @property
    def head(self) -> Head:
        """Where the folded log ends."""
        return self._reader.head
