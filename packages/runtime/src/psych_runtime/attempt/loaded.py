"""A Run's log, folded: the state, the head, and the conversation."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.attempt.reading import decoded, pages
from psych_runtime_core.engine.conversation import Conversation
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import GENESIS, Head
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.fold import apply, empty
from psych_runtime_core.state.run import RunStateView


@dataclass
class Loaded:
    """What a Worker knows of a Run; kept while the Run is parked, so that only the tail is read again."""

    state: RunStateView
    head: Head
    conversation: Conversation

    @classmethod
    def nothing(cls, run_id: RunId, system: str) -> Loaded:
        """Of a Run of which nothing was read yet; `system` is what its agent is told before all else."""
        return cls(empty(run_id), GENESIS, Conversation(system))

    async def catch_up(self, store: Store, scope: Scope) -> None:
        """Fold what was written since. Raises `CorruptLog`, `RecordTooNew`."""
        await store.codec.prepare(scope)
        async for page in pages(store, self.state.run_id, self.head):
            for entry in page:
                record = decoded(store, scope, self.state.run_id, entry)
                apply(self.state, record)
                self.conversation.absorb(record)
                self.head = entry.head
