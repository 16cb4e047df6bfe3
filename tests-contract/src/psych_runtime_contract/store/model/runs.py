"""Commits, leases and the keys of admissions, restated. Nothing here is shared with any store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.runs import NOW, Lease, RunHeader
from psych_runtime_core.ports.writes import Admit, Append, Write
from psych_runtime_core.records import Entry, Head

Run = dict[str, Any]
FACTS = ("version_hash", "deadline_at", "parked", "waits", "pending", "stopping", "blobs", "attempt_count")
KEY_LASTS = timedelta(days=30)


class Refusal(Exception):
    """What the store must raise, by the name of its type."""


@dataclass
class Key:
    """For which Run a key was used, and for what; until when, once that Run is gone or erased."""

    run_id: str
    request: bytes
    until: datetime | None = None


class StoreModel:
    """Runs as dicts of what their headers say, their logs, and who asked for which claims."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.runs: dict[str, Run] = {}
        self.logs: dict[str, list[Entry]] = {}
        self.keys: dict[tuple[str, str], Key] = {}
        self.asked: dict[str, tuple[str, str | None, bool]] = {}

    # --- commits -----------------------------------------------------------------------------------------

    def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        appends = [write for write in writes if isinstance(write, Append)]
        admits = [write for write in writes if isinstance(write, Admit)]
        if any(map(self.is_malformed, appends)) or len(self.tenants(writes)) > 1:
            raise Refusal("ValueError")
        if any(write.run_id not in self.runs for write in appends):
            raise Refusal("RunNotFound")
        if any(self.landed(write) for write in writes):
            return tuple(write.entries[-1].head if write.entries else write.after for write in writes)
        if any(write.lease and not self.is_live(write.lease) for write in appends):
            raise Refusal("LeaseLost")
        if any(not write.lease and self.runs[write.run_id]["terminal"] for write in appends):
            raise Refusal("RunAlreadySettled")
        if any(self.runs[write.run_id]["head"] != write.after for write in appends):
            raise Refusal("SeqConflict")
        standing = [self.stands(write) for write in admits]
        written = [write for write in writes if isinstance(write, Append) or not standing.pop(0)]
        for write in written:
            self.write(write)
        return tuple(self.logs[write.run_id][-1].head for write in writes if write.run_id in self.logs)

    def is_malformed(self, write: Append) -> bool:
        """It has a gap, or no entries though it is no rest."""
        seqs = [write.after.seq + number for number in range(1, len(write.entries) + 1)]
        is_empty = not write.entries and write.change.action != "rest"
        return is_empty or [each.seq for each in write.entries] != seqs

    def tenants(self, writes: Sequence[Write]) -> set[str]:
        known = {self.runs[write.run_id]["scope"].tenant for write in writes if write.run_id in self.runs}
        return known | {write.header.scope.tenant for write in writes if isinstance(write, Admit)}

    def landed(self, write: Write) -> bool:
        log = self.logs.get(write.run_id, [])
        return bool(write.entries) and log[-1:] == [write.entries[-1]]

    def admit(self, write: Admit) -> RunId:
        self.commit([write])
        return RunId(write.run_id if write.run_id in self.runs else self.stands(write) or write.run_id)

    def stands(self, write: Admit) -> str | None:
        """The Run that an admission finds, which must have been asked for by the same request."""
        tenant, key = write.header.scope.tenant, write.header.idempotency_key
        run = self.runs.get(write.run_id)
        used = self.keys.get((tenant, key)) if key else None
        if run is not None:
            found, request = write.run_id, write.header.request if run["erased"] else run["request"]
        elif used is not None and (used.until is None or used.until > self.now):
            found, request = RunId(used.run_id), used.request
        else:
            return None
        if request != write.header.request:
            raise Refusal("IdempotencyConflict")
        return found

    def write(self, write: Write) -> None:
        if isinstance(write, Append):
            self.append(write)
            return
        run = dict(write.header)
        run["ready_at"] = run["ready_at"] and max(run["ready_at"], self.now)
        self.runs[write.run_id], self.logs[write.run_id] = run, list(write.entries)
        if run["idempotency_key"]:
            self.keys[run["scope"].tenant, run["idempotency_key"]] = Key(write.run_id, run["request"])

    def append(self, write: Append) -> None:
        run, change = self.runs[write.run_id], write.change
        self.logs[write.run_id] += write.entries
        run["head"] = self.logs[write.run_id][-1].head
        if change.facts:
            run.update({name: getattr(change.facts, name) for name in FACTS})
        if change.progress:
            run["crashes"] = 0
        if change.action == "wake" and not run["lease"]:
            run["ready_at"] = min(run["ready_at"] or self.now, self.now)
        if change.action == "rest":
            self.give_back(run, change.ready_at)
        if change.action == "settle":
            self.give_back(run, None)
            run["terminal"], run["settled_at"] = change.terminal, write.entries[-1].at

    def read(self, run_id: str, after: int, limit: int) -> tuple[Entry, ...]:
        if run_id not in self.runs:
            raise Refusal("RunNotFound")
        return tuple([entry for entry in self.logs[run_id] if entry.seq > after][:limit])

    # --- leases ------------------------------------------------------------------------------------------

    def is_live(self, lease: Lease) -> bool:
        held = self.runs[lease.run_id]["lease"] if lease.run_id in self.runs else None
        return bool(
            held
            and held.epoch == lease.epoch
            and held.worker_id == lease.worker_id
            and held.expires_at > self.now
        )

    def give_back(self, run: Run, ready_at: datetime | None) -> None:
        run["lease"], run["ready_at"] = None, ready_at and max(ready_at, self.now)
        self.asked.pop(run["run_id"], None)

    def release(self, lease: Lease, ready_at: datetime | None, after: Head | None) -> None:
        if ready_at != NOW and after is None:
            raise Refusal("ValueError")
        if lease.run_id not in self.runs:
            raise Refusal("RunNotFound")
        if not self.is_live(lease):
            raise Refusal("LeaseLost")
        if after is not None and self.runs[lease.run_id]["head"] != after:
            raise Refusal("SeqConflict")
        self.give_back(self.runs[lease.run_id], ready_at)

    def renew(self, lease: Lease, seconds: float) -> tuple[str, Lease, Head | None]:
        if not self.is_live(lease):
            return "lost", lease, None
        run, end = self.runs[lease.run_id], self.now + timedelta(seconds=seconds)
        run["lease"], run["ready_at"] = Lease(lease.run_id, lease.worker_id, lease.epoch, end), end
        return "kept", run["lease"], run["head"]

    # --- what it says --------------------------------------------------------------------------------------

    def header(self, run_id: str) -> RunHeader:
        return RunHeader.model_validate(self.runs[run_id])

    def ready(self) -> set[str]:
        """The Runs that may be claimed."""
        return {
            run_id for run_id, run in self.runs.items() if run["ready_at"] and run["ready_at"] <= self.now
        }
