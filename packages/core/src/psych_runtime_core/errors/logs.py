"""What is wrong with a log."""

from __future__ import annotations

from enum import StrEnum

from psych_runtime_core.errors.base import PsychError


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


class LogConflict(CorruptLog):
    """Another log is stored under the id of a Run that comes from a file. Both may be sound, one redacted."""

    def __str__(self) -> str:
        return (
            f"{self.run_id}: {self.detail}; purge that Run once it is settled, or import into another store"
        )


class RecordTooNew(PsychError):
    """A record was written by a newer release: upgrade this process to read the Run."""

    def __init__(self, run_id: str, seq: int, record_type: str, form: int) -> None:
        self.run_id, self.seq, self.type, self.form = run_id, seq, record_type, form
        what = f"record {seq} of {run_id} ({record_type!r}, form {form})"
        super().__init__(f"{what} is of a newer release; upgrade psych-runtime in this process")
