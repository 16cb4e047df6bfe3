"""Every error Psych raises.

Each holds what it knows as fields, and says what to do next.

    PsychError
    ├── SpecValidationError            ├── SchemaViolation (ValueError)
    ├── NotJson (ValueError)           ├── BadSchema (ValueError)
    ├── ToolSchemaError                ├── ModelError
    ├── TransientError                 ├── ConversationError
    ├── AccessDenied                   ├── RecordTooNew
    ├── CorruptLog                     ├── UnknownStoreUrl (ValueError)
    ├── MissingExtra (ModuleNotFoundError)
    ├── StoreError
    │   ├── SeqConflict                ├── LeaseLost
    │   ├── RunNotFound (KeyError)     ├── VersionNotFound (KeyError)
    │   ├── StoreUnavailable           │   └── StoreFull
    │   ├── NotMigrated                ├── StoreMisconfigured
    │   └── EntryTooLarge (ValueError)
    ├── RunEndedWithoutAnswer
    │   ├── RunFailed                  └── RunAborted › DeadlineExceeded
    └── RunNotSuspended  WaitNotFound  WaitAmbiguous  SuspensionExpired
        RunAlreadySettled  QueueFull  IdempotencyConflict  NoFreeSlot (RuntimeError)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from typing import Literal, Protocol

Loc = tuple[str | int, ...]


def pointer(loc: Loc) -> str:
    """`loc`, keys and indices from the root, as an RFC 6901 pointer; `""` is the whole document."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in loc)


class PsychError(Exception):
    """The root of every error that Psych raises on purpose."""


@dataclass(frozen=True, slots=True)
class ValidationIssue:
    """One thing that is wrong with a Spec: `path` is an RFC 6901 pointer into the document given."""

    code: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '/'}: {self.code}: {self.message}"


class SpecValidationError(PsychError):
    """A Spec is wrong; `issues` holds everything that is wrong with it, in document order."""

    def __init__(self, issues: Sequence[ValidationIssue]) -> None:
        self.issues = tuple(issues)
        count = f"{len(self.issues)} issue{'s' if len(self.issues) != 1 else ''}"
        super().__init__("\n".join([f"the Spec has {count}:", *(f"  {issue}" for issue in self.issues)]))


@dataclass(frozen=True, slots=True)
class Violation:
    """One place where a value does not fit a JSON Schema: a pointer into the value, and what is wrong."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or '/'}: {self.message}"


class SchemaViolation(PsychError, ValueError):
    """A value does not fit the JSON Schema it was given for."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__("the value does not fit its schema: " + "; ".join(map(str, self.violations)))


class NotJson(PsychError, ValueError):
    """A value has no JSON form: `loc` leads to the part that has none, `code` is the kind of refusal."""

    def __init__(self, reason: str, code: str = "not_json", loc: Loc = ()) -> None:
        self.reason, self.code, self.loc = reason, code, loc
        super().__init__(f"{pointer(loc) or '/'}: {reason}")

    def below(self, token: str | int) -> NotJson:
        """This error as the container sees it that holds the value at `token`."""
        return NotJson(self.reason, self.code, (token, *self.loc))


class BadSchema(PsychError, ValueError):
    """A JSON Schema that an author wrote cannot be used; `loc` leads to the part that is wrong."""

    def __init__(self, reason: str, loc: Loc = ()) -> None:
        self.reason, self.loc = reason, loc
        super().__init__(f"{pointer(loc) or '/'}: {reason}")


class ToolSchemaError(PsychError):
    """A function cannot be a tool as it is; the text says which line to write instead."""

    def __init__(self, tool: str, parameter: str | None, reason: str) -> None:
        self.tool, self.parameter, self.reason = tool, parameter, reason
        where = f"tool {tool!r}" + (f", parameter {parameter!r}" if parameter else "")
        super().__init__(f"{where}: {reason}")


class ModelErrorKind(StrEnum):
    """What a failed model call means for the next try."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"
    AUTH = "auth"


class ModelError(PsychError):
    """A model call failed. `retry_after_seconds` is the provider's own hint, None when it gave none."""

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.kind, self.message, self.code, self.status = ModelErrorKind(kind), message, code, status
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class TransientError(PsychError):
    """Something outside failed in a way that may pass: trying again can help."""

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        self.message, self.retry_after_seconds = message, retry_after_seconds
        super().__init__(message)


class ConversationError(PsychError):
    """A conversation no strict provider would take. It is a bug of Psych, never of a model."""

    def __init__(self, index: int, detail: str) -> None:
        self.index, self.detail = index, detail
        super().__init__(f"message {index}: {detail}")


class AccessDenied(PsychError):
    """`subject` may not be reached; the text never names another tenant."""

    def __init__(self, subject: str, reason: str) -> None:
        self.subject, self.reason = subject, reason
        super().__init__(f"access to {subject} is denied: {reason}")


class CorruptionReason(StrEnum):
    """The classes of contradiction that a log can show."""

    WRONG_LOG = "wrong_log"
    NOT_ADMITTED = "not_admitted"
    ADMITTED_TWICE = "admitted_twice"
    RECORD_AFTER_FINISH = "record_after_finish"
    AFTER_ABORT = "after_abort"
    STALE_EPOCH = "stale_epoch"
    WRONG_ATTEMPT = "wrong_attempt"
    LANE_NOT_OPEN = "lane_not_open"
    WRONG_PHASE = "wrong_phase"
    WRONG_NUMBER = "wrong_number"
    WRONG_ID = "wrong_id"
    CALL_NOT_OPEN = "call_not_open"
    CALL_STARTED_TWICE = "call_started_twice"
    CALL_NOT_ADMITTED = "call_not_admitted"
    IMPOSSIBLE_OUTCOME = "impossible_outcome"
    OPEN_WORK = "open_work"
    WAIT_OWNER_MISMATCH = "wait_owner_mismatch"
    WAIT_NOT_OPEN = "wait_not_open"
    WRONG_ANSWER = "wrong_answer"
    QUEUE_ENTRY_NOT_PENDING = "queue_entry_not_pending"
    DIGEST_MISMATCH = "digest_mismatch"
    ENVELOPE_MISMATCH = "envelope_mismatch"
    UNREADABLE_BODY = "unreadable_body"


class CorruptLog(PsychError):
    """A log contradicts itself. It is never repaired: restore it from a backup, or purge the Run."""

    def __init__(self, reason: CorruptionReason, run_id: str, seq: int, detail: str) -> None:
        self.reason, self.run_id, self.seq, self.detail = CorruptionReason(reason), run_id, seq, detail
        super().__init__(f"the log of {run_id} is corrupt at seq {seq}: {self.reason.value}: {detail}")


class RecordTooNew(PsychError):
    """A record was written by a newer release: upgrade this process to read the Run."""

    def __init__(self, run_id: str, seq: int, record_type: str, form: int) -> None:
        self.run_id, self.seq, self.type, self.form = run_id, seq, record_type, form
        what = f"record {seq} of {run_id} ({record_type!r}, form {form})"
        super().__init__(f"{what} is of a newer release; upgrade psych-runtime in this process")


class StoreError(PsychError):
    """A store could not do what was asked of it."""


class SeqConflict(StoreError):
    """The log has another head than the writer thought: read what is new and decide again."""

    def __init__(self, run_id: str, head: object) -> None:
        self.run_id, self.head = run_id, head
        super().__init__(f"the log of {run_id} has moved on to {head}; read its tail and try again")


class LeaseLost(StoreError):
    """The lease is no longer the live one: this Worker may write nothing more of this Run."""

    def __init__(self, run_id: str, worker_id: str) -> None:
        self.run_id, self.worker_id = run_id, worker_id
        super().__init__(f"{worker_id} no longer holds the lease of {run_id}")


class RunNotFound(StoreError, KeyError):
    """No Run of this id is stored."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"no Run {run_id} is stored here")

    __str__ = Exception.__str__


class VersionNotFound(StoreError, KeyError):
    """No Version of this hash is stored: publish its Spec first."""

    def __init__(self, version_hash: str) -> None:
        self.version_hash = version_hash
        super().__init__(f"no Version {version_hash} is stored here; publish its Spec first")

    __str__ = Exception.__str__


class StoreUnavailable(StoreError):
    """The store cannot be reached or is busy. `outcome` is "none" when nothing was written."""

    def __init__(self, operation: str, detail: str, outcome: Literal["none", "unknown"] = "unknown") -> None:
        self.operation, self.detail, self.outcome = operation, detail, outcome
        written = "nothing was written" if outcome == "none" else "it may have been written; repeat it"
        super().__init__(f"{operation}: the store is unavailable ({detail}); {written}")


class StoreFull(StoreUnavailable):
    """The store has no room: free space, then try again."""


class NotMigrated(StoreError):
    """The store's schema is absent, older or newer than this release needs."""

    def __init__(self, found: int, needed: int) -> None:
        self.found, self.needed = found, needed
        cure = "upgrade psych-runtime" if found > needed else "call await store.migrate()"
        super().__init__(f"the store is at schema level {found}, this release needs {needed}; {cure}")


class StoreMisconfigured(StoreError):
    """The store cannot keep its promises as it is set up; the text names what to change."""


class EntryTooLarge(StoreError, ValueError):
    """A body or a commit is over its limit, in bytes. Trying again does not help."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        self.what, self.size, self.limit = what, size, limit
        super().__init__(f"{what} has {size} bytes, the limit is {limit}; store less")


class UnknownStoreUrl(PsychError, ValueError):
    """No store is known for the scheme of a URL."""

    def __init__(self, scheme: str, known: Sequence[str]) -> None:
        self.scheme, self.known = scheme, tuple(known)
        super().__init__(f"no store is known for {scheme!r}; known schemes: {', '.join(self.known)}")


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


class MissingExtra(PsychError, ModuleNotFoundError):
    """An adapter's distribution is not installed. `command` brings it, from wheels of ours alone."""

    def __init__(self, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        wanted = f"'psych-runtime[{extra}]=={version('psych-runtime-core')}'"
        self.command = f"pip install --no-index --find-links dist {wanted}"
        super().__init__(f"{module} is not installed; with the wheels in dist: {self.command}", name=module)
