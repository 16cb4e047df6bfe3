"""Idempotency keys: each answers for its Run, and for 30 days when the Run is gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.keys import (
    FORGOTTEN_AT_ONCE,
    KEY_SECONDS,
    Known,
    judge_key,
    key_digest,
    request_under,
)
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_memory.heap import Heap


class Keys:
    """Keys by digest: of a Run that is gone nothing is kept that tells of a person."""

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}
        self._of_run: dict[RunId, bytes] = {}
        self._ends: Heap[datetime, bytes] = Heap()

    def __len__(self) -> int:
        return len(self._known)

    def note(self, header: RunHeader, now: datetime) -> None:
        """A Run was admitted. A few keys whose time is over are forgotten."""
        for _ in range(FORGOTTEN_AT_ONCE):
            self._forget_one(now)
        if header.idempotency_key is not None:
            digest = key_digest(header.scope.tenant, header.idempotency_key)
            self._drop(digest)
            request = request_under(header.idempotency_key, header.request)
            self._known[digest] = Known(header.run_id, request)
            self._of_run[header.run_id] = digest

    def judge(self, header: RunHeader, now: datetime) -> RunId | None:
        """The Run for which the key of an admission was used. Raises `IdempotencyConflict`."""
        key = header.idempotency_key
        known = self._known.get(key_digest(header.scope.tenant, key)) if key is not None else None
        return judge_key(header, known, now)

    def date(self, run_id: RunId, now: datetime) -> None:
        """A Run is gone, or what it said about a person: its key answers for its time."""
        digest = self._of_run.get(run_id)
        if digest is not None and self._known[digest].forget_at is None:
            forget_at = now + timedelta(seconds=KEY_SECONDS)
            self._known[digest] = replace(self._known[digest], forget_at=forget_at)
            self._ends.put(digest, forget_at)

    def _forget_one(self, now: datetime) -> None:
        first = self._ends.first()
        if first and first[0] <= now:
            self._drop(first[1])

    def _drop(self, digest: bytes) -> None:
        known = self._known.pop(digest, None)
        self._ends.take(digest)
        # A Run of the same id may have come since, with another key.
        if known and self._of_run.get(known.run_id) == digest:
            del self._of_run[known.run_id]
