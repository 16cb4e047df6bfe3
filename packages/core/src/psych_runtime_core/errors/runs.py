"""How a Run ended, and what it does not take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from psych_runtime_core.errors.base import PsychError


class Failure(Protocol):
    """What an error says of a failure that stands in a log."""

    @property
    def kind(self) -> str: ...
    @property
    def message(self) -> str: ...


class RunEndedWithoutAnswer(PsychError):
    """A Run ended, and not with an answer."""


class RunFailed(RunEndedWithoutAnswer):
    """The Run settled `failed`; `failure` says why."""

    def __init__(self, run_id: str, failure: Failure | None) -> None:
        self.run_id, self.failure = run_id, failure
        why = f"{failure.kind}: {failure.message}" if failure else "no failure was recorded"
        super().__init__(f"{run_id} failed: {why}")


class RunAborted(RunEndedWithoutAnswer):
    """The Run was stopped before it had an answer; `state` is its terminal state."""

    def __init__(self, run_id: str, state: str) -> None:
        self.run_id, self.state = run_id, state
        super().__init__(f"{run_id} ended {state} without an answer")


class DeadlineExceeded(RunAborted):
    """The Run was stopped by its deadline."""


class RunNotSuspended(PsychError):
    """The Run waits for nobody."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"{run_id} has no open Wait to answer")


class WaitNotFound(PsychError):
    """No open Wait of this id; `detail` says whether it was answered."""

    def __init__(self, run_id: str, wait_id: str, detail: str = "it is not open") -> None:
        self.run_id, self.wait_id, self.detail = run_id, wait_id, detail
        super().__init__(f"Wait {wait_id} of {run_id} cannot be answered: {detail}")


class WaitAmbiguous(PsychError):
    """Several Waits are open: name one of `wait_ids`."""

    def __init__(self, run_id: str, wait_ids: Sequence[str]) -> None:
        self.run_id, self.wait_ids = run_id, tuple(wait_ids)
        super().__init__(
            f"{run_id} has {len(self.wait_ids)} open Waits, name one: {', '.join(self.wait_ids)}"
        )


class SuspensionExpired(PsychError):
    """The Wait was due before the answer came."""

    def __init__(self, run_id: str, wait_id: str) -> None:
        self.run_id, self.wait_id = run_id, wait_id
        super().__init__(f"Wait {wait_id} of {run_id} has expired and takes no answer")


class RunAlreadySettled(PsychError):
    """The Run is settled or stopping and takes nothing more: dispatch a new one."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"{run_id} is settled or stopping and takes nothing more; dispatch a new Run")


class QueueFull(PsychError):
    """The Run has as many pending messages as it takes: wait until it has read some."""

    def __init__(self, run_id: str, pending: int) -> None:
        self.run_id, self.pending = run_id, pending
        super().__init__(f"{run_id} has {pending} pending messages; send again when it has read some")


class IdempotencyConflict(PsychError):
    """The key was used for another request; `run_id` is the Run it stands for."""

    def __init__(self, key: str, run_id: str, field: str) -> None:
        self.key, self.run_id, self.field = key, run_id, field
        belongs = f"idempotency key {key!r} belongs to {run_id}"
        super().__init__(f"{belongs}, whose {field} differs; use another key")


class NoFreeSlot(PsychError, RuntimeError):
    """A tool waits for a Run that its own Worker has no slot left to drive."""

    def __init__(self, run_id: str | None, concurrency: int) -> None:
        self.run_id, self.concurrency = run_id, concurrency
        super().__init__(f"all {concurrency} slots are taken: nothing awaited can start; raise concurrency")
