"""Faults of idempotency keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psych_runtime_contract.store.mutants.base import Mutant, MutantStore, over
from psych_runtime_core.errors import IdempotencyConflict
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import Entry
from psych_runtime_core.scope import Scope
from psych_runtime_memory.keys import Keys
from psych_runtime_memory.live import InMemoryLive
from psych_runtime_memory.runs import Runs
from psych_runtime_memory.watches import Watches


class Respelled(Keys):
    """Keys that are noted and looked up by another header."""

    def respelled(self, header: RunHeader) -> RunHeader:
        return header

    def note(self, header: RunHeader, now: datetime) -> None:
        super().note(self.respelled(header), now)

    def judge(self, header: RunHeader, now: datetime) -> RunId | None:
        return super().judge(self.respelled(header), now)


class KeyGlobal(Respelled):
    def respelled(self, header: RunHeader) -> RunHeader:
        return header.model_copy(update={"scope": Scope(tenant="everybody")})


class KeyFoldedInCase(Respelled):
    def respelled(self, header: RunHeader) -> RunHeader:
        key = header.idempotency_key
        return header.model_copy(update={"idempotency_key": key and key.lower()})


class KeyKeptForEver(Keys):
    def date(self, run_id: RunId, now: datetime) -> None:
        pass


class Forgetful(Keys):
    def forget(self, run_id: RunId) -> None:
        """Free a key at once."""
        if run_id in self._of_run:
            self._drop(self._of_run[run_id])


def keyed(keys: type[Keys]) -> type[Runs]:
    """Runs with such keys."""

    class Keyed(Runs):
        def __init__(self, headers: dict[RunId, RunHeader], watches: Watches, live: InMemoryLive) -> None:
            super().__init__(headers, watches, live)
            self._keys = keys()

    return Keyed


class KeyFreed(Runs):
    def __init__(self, headers: dict[RunId, RunHeader], watches: Watches, live: InMemoryLive) -> None:
        super().__init__(headers, watches, live)
        self._keys = self.forgetful = Forgetful()


class KeyFreedByPurge(KeyFreed):
    def purge(self, query: RunQuery, now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        gone = super().purge(query, now, dry_run=dry_run)
        for header in () if dry_run else gone:
            self.forgetful.forget(header.run_id)
        return gone


class KeyFreedByErase(KeyFreed):
    def erase(self, query: RunQuery, now: datetime) -> int:
        count = super().erase(query, now)
        for header in self._headers.values():
            if header.erased:
                self.forgetful.forget(header.run_id)
        return count


class KeyOfAChildFreedByPurge(KeyFreed):
    def purge(self, query: RunQuery, now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        gone = super().purge(query, now, dry_run=dry_run)
        for header in () if dry_run else gone:
            if header.parent_run_id is not None:
                self.forgetful.forget(header.run_id)
        return gone


class DryRunDatesKeys(Runs):
    def purge(self, query: RunQuery, now: datetime, *, dry_run: bool) -> tuple[RunHeader, ...]:
        gone = super().purge(query, now, dry_run=dry_run)
        for header in gone:
            self._keys.date(header.run_id, now)
        return gone


class ConflictUnseen(MutantStore):
    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        try:
            return await super().admit(header, entries)
        except IdempotencyConflict as conflict:
            return RunId(conflict.run_id)


ANSWERS = "test_a_key_answers_with_the_old_run_and_begins_none"
FREE = "test_a_key_is_free_when_its_time_is_over"
OF_A_CHILD = "test_the_key_of_a_child_outlives_its_tree"
KEYS = (
    Mutant(
        "key global",
        over(keyed(KeyGlobal)),
        "test_ids_and_tenants_that_differ_at_all_are_different",
        "order-1",
    ),
    Mutant(
        "key folded in case",
        over(keyed(KeyFoldedInCase)),
        "test_keys_that_differ_at_all_are_different",
        "run_",
    ),
    Mutant(
        "conflict unseen", ConflictUnseen, "test_a_key_used_for_another_request_conflicts", "DID NOT RAISE"
    ),
    Mutant("key freed by purge", over(KeyFreedByPurge), ANSWERS, "run_b", also=(FREE, OF_A_CHILD)),
    Mutant("key of a child freed by purge", over(KeyOfAChildFreedByPurge), OF_A_CHILD, "run_b", machine=None),
    Mutant(
        "dry run dates keys",
        over(DryRunDatesKeys),
        "test_a_purge_that_is_only_tried_dates_no_key",
        "run_b",
        machine=None,
    ),
    Mutant("key freed by erase", over(KeyFreedByErase), ANSWERS, "run_b", also=(FREE,)),
    Mutant(
        "key kept for ever",
        over(keyed(KeyKeptForEver)),
        FREE,
        "IdempotencyConflict",
    ),
)
