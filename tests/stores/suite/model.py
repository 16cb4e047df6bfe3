"""The rules of a store once more, over plain dicts, to compare a store with."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.store import NOW, Admit, Append, Lease, RunHeader, Write
from psych_runtime_core.records import Entry, Head

Run = dict[str, Any]
FACTS = ("version_hash", "deadline_at", "parked", "waits", "pending", "stopping", "attempt_count")


class Refusal(Exception):
    """What the store must raise, by the name of its type."""


class StoreModel:
    """Runs as dicts of what their headers say, and their logs."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.runs: dict[str, Run] = {}
        self.logs: dict[str, list[Entry]] = {}
        self.keys: dict[tuple[str, str], str] = {}
        self.asked: dict[str, tuple[str, str | None, bool]] = {}

    # --- commits ------------------------------------------------------------------------------------

    def commit(self, writes: Sequence[Write]) -> tuple[Head, ...]:
        appends = [write for write in writes if isinstance(write, Append)]
        admits = [write for write in writes if isinstance(write, Admit)]
        if len(self.tenants(writes)) > 1:
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
        if any(self.stands(write) and not self.is_same(write) for write in admits):
            raise Refusal("IdempotencyConflict")
        return tuple(self.write(write) for write in writes)

    def tenants(self, writes: Sequence[Write]) -> set[str]:
        known = {self.runs[write.run_id]["scope"].tenant for write in writes if write.run_id in self.runs}
        return known | {write.header.scope.tenant for write in writes if isinstance(write, Admit)}

    def landed(self, write: Write) -> bool:
        log = self.logs.get(write.run_id, [])
        return bool(write.entries) and log[-1:] == [write.entries[-1]]

    def stands(self, write: Admit) -> str | None:
        if write.run_id in self.runs:
            return write.run_id
        return self.keys.get((write.header.scope.tenant, write.header.idempotency_key or ""))

    def is_same(self, write: Admit) -> bool:
        return bool(self.runs[self.stands(write) or ""]["request"] == write.header.request)

    def admit(self, write: Admit) -> RunId:
        self.commit([write])
        return RunId(self.stands(write) or write.run_id)

    def write(self, write: Write) -> Head:
        if isinstance(write, Append):
            return self.append(write)
        stands = self.stands(write)
        if stands:
            return self.head(stands)
        run = dict(write.header)
        run["ready_at"] = run["ready_at"] and max(run["ready_at"], self.now)
        self.runs[write.run_id], self.logs[write.run_id] = run, list(write.entries)
        if run["idempotency_key"]:
            self.keys[run["scope"].tenant, run["idempotency_key"]] = write.run_id
        return self.head(write.run_id)

    def append(self, write: Append) -> Head:
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
        return self.head(write.run_id)

    def head(self, run_id: str) -> Head:
        return self.logs[run_id][-1].head

    # --- leases -------------------------------------------------------------------------------------

    def is_live(self, lease: Lease) -> bool:
        held = self.runs[lease.run_id]["lease"]
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

    # --- claims -------------------------------------------------------------------------------------

    def claimable(self, left_out: Collection[str], skipped: Collection[str]) -> dict[str, list[str]]:
        """By tenant, in the order in which Runs are to be taken."""
        ready = [
            run
            for run in self.runs.values()
            if run["ready_at"]
            and run["ready_at"] <= self.now
            and run["run_id"] not in left_out
            and run["version_hash"] not in skipped
        ]
        ready.sort(key=lambda run: (run["scope"].tenant, -run["priority"], run["ready_at"], run["run_id"]))
        return {
            tenant: [run["run_id"] for run in runs]
            for tenant, runs in groupby(ready, key=lambda run: run["scope"].tenant)
        }

    def held(self, worker_id: str, request_id: str) -> dict[str, bool]:
        """The Runs leased under a request, and whether each had been reclaimed."""
        return {
            run_id: reclaimed
            for run_id, (*asked, reclaimed) in self.asked.items()
            if asked == [worker_id, request_id] and self.runs[run_id]["lease"].expires_at > self.now
        }

    def claim(self, run_id: str, worker_id: str, seconds: float, request_id: str | None) -> bool:
        """Lease a Run; whether its last lease had expired."""
        run, end = self.runs[run_id], self.now + timedelta(seconds=seconds)
        expired = run["lease"] is not None
        run["crashes"] += expired
        run["epoch"] += 1
        run["lease"], run["ready_at"] = Lease(run["run_id"], WorkerId(worker_id), run["epoch"], end), end
        self.asked[run_id] = (worker_id, request_id, expired)
        return expired

    def header(self, run_id: str) -> RunHeader:
        return RunHeader.model_validate(self.runs[run_id])
