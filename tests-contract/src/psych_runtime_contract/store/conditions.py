"""Runs that differ in all that can be asked for, and what each condition means, said once more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

from psych_runtime_contract.store.endings import over
from psych_runtime_contract.store.scenes import START, admission
from psych_runtime_core.ports.runs import Lifecycle, RunHeader, RunState
from psych_runtime_core.ports.writes import Admit
from psych_runtime_core.records.facts import SuspendReason, TerminalState
from psych_runtime_core.scope import Scope

SECOND = timedelta(seconds=1)
NOON, OLD = START + timedelta(hours=12), datetime(1969, 12, 31, 23, 59, 59, 999_999, START.tzinfo)
TRICKY = {"a.b": "1", 'a"b': "2", "$": "3", "a'b": "4", "[0]": "5", "%": "6", "é": "7", "a\\b": "8"}
"""Labels that are something else to who builds a path or a pattern of them."""
REASONS = [*SuspendReason]

Holds = Callable[[RunHeader], bool]
Said = Callable[[RunHeader], object]


def some_runs() -> list[Admit]:
    """Runs that differ in all that can be asked for."""
    chance = Random(7)

    def scope() -> Scope:
        name, value = chance.choice([*TRICKY.items()])
        return Scope(
            tenant=chance.choice(["acme", "acme", "Acme"]),
            principal=chance.choice([None, "ada", "Ada", "a_a", "%"]),
            labels={name: value, "team": chance.choice(["support", "Support"])},
        )

    def run(number: int) -> Admit:
        also: dict[str, Any] = {
            "scope": scope(),
            "name": chance.choice(["agent", "other"]),
            "version_hash": chance.choice(["version_a", "version_b"]),
            "created_at": chance.choice([START, START, START + SECOND, NOON, OLD]),
            "attempt_count": chance.choice([0, 2]),
            "stopping": chance.random() < 0.2,
            "parked": chance.random() < 0.3,
            "blobs": chance.random() < 0.5,
            "waits": chance.choice([(), (), ((REASONS[-1], 2),), ((REASONS[0], 3), (REASONS[-1], 2**40))]),
            "root_run_id": chance.choice(["root", f"run_{number:02}"]),
            "parent_run_id": chance.choice([None, "root", "run_00"]),
            "continues_run_id": chance.choice([None, "root", "run_00"]),
            "idempotency_key": chance.choice([None, f"key_{number}", f"Key_{number % 9}_{number}"]),
        }
        if chance.random() < 0.5:
            ended = {"terminal": chance.choice([*TerminalState]), "settled_at": chance.choice([START, NOON])}
            return over(f"run_{number:02}", **also, **ended)
        return admission(f"run_{number:02}", ready_at=None, **also)

    return [run(number) for number in range(60)]


def lifecycle_of(run: RunHeader) -> str:
    """A Run's life, said once more."""
    if run.terminal is not None:
        return {"completed": "done", "failed": "failed"}.get(run.terminal.value, "stopped")
    if run.stopping:
        return "stopping"
    return "waiting" if run.parked else "running" if run.attempt_count else "queued"


def state_of(run: RunHeader) -> str:
    """What a Run is, said once more."""
    if run.terminal is not None:
        return "settled"
    return "running" if run.lease is not None else "suspended" if run.parked else "runnable"


def equal(said: Said, *wanted: object) -> list[tuple[object, Holds]]:
    """Values of a condition that asks for the same as is said of a Run."""

    def one(value: object) -> tuple[object, Holds]:
        return value, lambda run: said(run) == value

    return [one(value) for value in wanted]


def labelled(wanted: dict[str, str]) -> tuple[object, Holds]:
    """Labels, and whether a Run has all of them."""
    return wanted, lambda run: all(run.scope.labels.get(name) == text for name, text in wanted.items())


def among(said: Said, *members: object) -> tuple[object, Holds]:
    """A set, and whether what is said of a Run is in it."""
    return frozenset(members), lambda run: said(run) in members


def waiting(reasons: set[SuspendReason]) -> tuple[object, Holds]:
    """Reasons, and whether a Run waits for one of them, be it its first Wait or a later one."""
    return frozenset(reasons), lambda run: any(reason in reasons for reason, _ in run.waits)


CONDITIONS: dict[str, list[tuple[object, Holds]]] = {
    "tenant": equal(lambda run: run.scope.tenant, "acme", "Acme", "ac%"),
    "principal": equal(lambda run: run.scope.principal, "ada", "a_a", "%", "nobody"),
    "labels": [
        labelled({"team": "support"}),
        *[labelled({name: value}) for name, value in TRICKY.items()],
        labelled({"team": "support", "a.b": "1"}),
        labelled({"a": "1"}),
    ],
    "name": equal(lambda run: run.name, "other", "Other"),
    "version_hash": equal(lambda run: run.version_hash, "version_a", "version_z"),
    "parent_run_id": equal(lambda run: run.parent_run_id, "root", "run_0_"),
    "root_run_id": equal(lambda run: run.root_run_id, "root", "run_01"),
    "continues_run_id": equal(lambda run: run.continues_run_id, "run_00", "run_99"),
    "idempotency_key": equal(lambda run: run.idempotency_key, "key_4", "key_12", "KEY_4", "key_1"),
    "run_ids": [
        among(lambda run: run.run_id, *[f"run_{number:02}" for number in range(0, 60, 2)]),
        among(lambda run: run.run_id, "run_05", "RUN_06", "run_99"),
        among(lambda run: run.run_id),
    ],
    "states": [
        among(state_of, RunState.RUNNABLE, RunState.SETTLED),
        among(state_of, RunState.SUSPENDED),
        among(state_of, RunState.RUNNING),
        among(state_of),
    ],
    "lifecycles": [
        *[among(lifecycle_of, each) for each in Lifecycle],
        among(lifecycle_of, *Lifecycle),
        among(lifecycle_of),
    ],
    "terminals": [
        among(lambda run: run.terminal, TerminalState.COMPLETED, TerminalState.ABORTED),
        among(lambda run: run.terminal, *TerminalState),
        among(lambda run: run.terminal),
    ],
    "waits": [
        *[waiting({each}) for each in REASONS],
        waiting({*REASONS}),
        waiting(set()),
    ],
    "blobs": [(True, lambda run: run.blobs), (False, lambda run: not run.blobs)],
    "created_after": [
        (START + SECOND, lambda run: run.created_at >= START + SECOND),
        (OLD, lambda run: True),
        (NOON + timedelta(microseconds=1), lambda run: False),
    ],
    "created_before": [
        (START + SECOND, lambda run: run.created_at < START + SECOND),
        (OLD, lambda run: False),
    ],
    "settled_before": [
        (NOON, lambda run: run.settled_at is not None and run.settled_at < NOON),
        (START, lambda run: False),
        (NOON + SECOND, lambda run: run.settled_at is not None),
    ],
}
