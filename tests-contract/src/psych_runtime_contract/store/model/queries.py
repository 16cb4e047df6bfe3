"""Which Runs a query means, what purge and erasure take of them, and how many stand how, restated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from psych_runtime_contract.store.model.claims import ClaimModel
from psych_runtime_contract.store.model.runs import KEY_LASTS, Run
from psych_runtime_core.scope import Scope

ENDINGS = {"completed": "done", "failed": "failed"}


def state(run: Run) -> str:
    if run["terminal"]:
        return "settled"
    if run["lease"]:
        return "running"
    return "suspended" if run["parked"] else "runnable"


def lifecycle(run: Run) -> str:
    if run["terminal"]:
        return ENDINGS.get(run["terminal"].value, "stopped")
    if run["stopping"]:
        return "stopping"
    if run["parked"]:
        return "waiting"
    return "running" if run["attempt_count"] else "queued"


MEANS: Mapping[str, Callable[[Run, Any], bool]] = {
    "tenant": lambda run, tenant: run["scope"].tenant == tenant,
    "principal": lambda run, principal: run["scope"].principal == principal,
    "labels": lambda run, labels: all(run["scope"].labels.get(name) == text for name, text in labels.items()),
    "version_hash": lambda run, version: run["version_hash"] == version,
    "idempotency_key": lambda run, key: run["idempotency_key"] == key,
    "run_ids": lambda run, ids: run["run_id"] in ids,
    "root_run_id": lambda run, root: run["root_run_id"] == root,
    "continues_run_id": lambda run, earlier: run["continues_run_id"] == earlier,
    "states": lambda run, states: state(run) in states,
    "lifecycles": lambda run, words: lifecycle(run) in words,
    "terminals": lambda run, terminals: run["terminal"] in terminals,
    "waits": lambda run, reasons: any(reason in reasons for reason, _ in run["waits"]),
    "blobs": lambda run, blobs: run["blobs"] == blobs,
    "created_before": lambda run, instant: run["created_at"] < instant,
    "settled_before": lambda run, instant: run["settled_at"] is not None and run["settled_at"] < instant,
}


class QueryModel(ClaimModel):
    """Queries over those dicts."""

    def meant(self, conditions: Mapping[str, Any]) -> list[Run]:
        """The Runs that are meant, newest first."""
        found = [
            run
            for run in self.runs.values()
            if all(MEANS[name](run, value) for name, value in conditions.items())
        ]
        return sorted(found, key=lambda run: (run["created_at"], run["run_id"]), reverse=True)

    # --- what goes ---------------------------------------------------------------------------------------

    def tree(self, root: str) -> set[str]:
        return {run_id for run_id, run in self.runs.items() if run["root_run_id"] == root}

    def may_go(self, conditions: Mapping[str, Any]) -> set[str]:
        """The roots of trees that a purge takes."""
        roots = [run["run_id"] for run in self.meant(conditions) if run["run_id"] == run["root_run_id"]]
        return {root for root in roots if self.is_over(self.tree(root))}

    def is_over(self, tree: set[str]) -> bool:
        heirs = {run_id for run_id, run in self.runs.items() if run["continues_run_id"] in tree}
        return all(self.runs[run_id]["terminal"] for run_id in tree) and not any(
            self.runs[run_id]["terminal"] is None for run_id in heirs
        )

    def remove(self, run_id: str) -> None:
        self.date_keys(run_id)
        del self.runs[run_id], self.logs[run_id]

    def erase(self, conditions: Mapping[str, Any]) -> int:
        found = [run for run in self.meant(conditions) if run["terminal"] and not run["erased"]]
        for run in found:
            self.date_keys(run["run_id"])
            run.update(
                scope=Scope(tenant=run["scope"].tenant),
                idempotency_key=None,
                request=bytes(32),
                erased=True,
            )
        return len(found)

    def date_keys(self, run_id: str) -> None:
        for key in self.keys.values():
            if key.run_id == run_id and key.until is None:
                key.until = self.now + KEY_LASTS

    # --- in numbers ----------------------------------------------------------------------------------------

    def stats(self, tenant: str) -> dict[str, object]:
        """The open Runs of a tenant."""
        runs = [run for run in self.runs.values() if run["scope"].tenant == tenant and not run["terminal"]]
        due = [run for run in runs if run["run_id"] in self.ready()]
        ready = [run for run in due if not run["lease"]]
        oldest = min((run["ready_at"] for run in ready), default=None)
        return {
            "ready": len(ready),
            "running": sum(run["lease"] is not None for run in runs),
            "suspended": sum(state(run) == "suspended" and run not in due for run in runs),
            "expired_leases": len(due) - len(ready),
            "oldest_ready_seconds": (self.now - oldest).total_seconds() if oldest else None,
        }
