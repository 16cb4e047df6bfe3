"""The values that records share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from psych_runtime_core.content import Content
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.records.base import CUT, Bytes, Count, Digest, FactModel, Seconds, cut_at


class TerminalState(StrEnum):
    """How a Run ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    ABANDONED = "abandoned"
    FORCE_SETTLED = "force_settled"


class ToolOutcome(StrEnum):
    """How a call ended. `refused`: nothing of it began; `unknown`: its effect may stand."""

    OK = "ok"
    ERROR = "error"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    REFUSED = "refused"


class SuspendReason(StrEnum):
    """What a Wait waits for."""

    APPROVAL = "approval"


class QueueKind(StrEnum):
    """When a message sent to a Run is read: at the next turn, or when the agent would finish."""

    STEER = "steer"
    FOLLOW_UP = "follow_up"


class FailureKind(StrEnum):
    """Psych's own kinds of failure; any other kind is the name of an exception's class."""

    TRUNCATED_CALL = "truncated_call"
    CONTENT_FILTER = "content_filter"
    TOO_MANY_CALLS = "too_many_calls"
    BUDGET_EXHAUSTED = "budget_exhausted"
    ACCESS_DENIED = "access_denied"
    FAILURE_STREAK = "failure_streak"
    REPEATED_CALL = "repeated_call"
    UNKNOWN_TOOL = "unknown_tool"
    MALFORMED_ARGUMENTS = "malformed_arguments"
    ARGUMENTS_TOO_LARGE = "arguments_too_large"
    INVALID_ARGUMENTS = "invalid_arguments"
    ANSWER_NOT_ALONE = "answer_not_alone"
    DENIED = "denied"
    APPROVAL_STALE = "approval_stale"
    TIMEOUT = "timeout"
    HTTP_ERROR = "http_error"
    HTTP_REDIRECT = "http_redirect"
    CREDENTIAL_NOT_FOUND = "credential_not_found"
    RESULT_NOT_SERIALISABLE = "result_not_serialisable"
    RESULT_TOO_LARGE = "result_too_large"
    BLOB_STORE_REQUIRED = "blob_store_required"
    BLOB_MISSING = "blob_missing"
    FORCE_SETTLED = "force_settled"
    TRANSIENT = "transient"
    PERMANENT = "permanent"
    CONTEXT_OVERFLOW = "context_overflow"
    AUTH = "auth"
    EMPTY_RESPONSE = "empty_response"
    INVALID_PROMPT = "invalid_prompt"
    OUTPUT_TRUNCATED = "output_truncated"
    REFUSAL = "refusal"
    SUSPENSION_EXPIRED = "suspension_expired"
    DEADLINE = "deadline"
    SCHEMA_VIOLATION = "schema_violation"
    ERASED = "erased"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    ATTEMPT_FAILED = "attempt_failed"
    STORE_LOST_ENTRIES = "store_lost_entries"


MAX_TRACEBACK = 65_536
# No client hands on a longer hint, and none may lead past the end of time.
MAX_RETRY_AFTER_SECONDS = 86_400.0


def _cut_traceback(text: str) -> str:
    """Its end says most."""
    return text if len(text) <= MAX_TRACEBACK else CUT + text[len(CUT) - MAX_TRACEBACK :]


def _cut_hint(seconds: float) -> float:
    return min(seconds, MAX_RETRY_AFTER_SECONDS)


class ToolFailure(FactModel):
    """Why something failed. What it says is cut to fit, never refused; the traceback is for operators."""

    kind: Annotated[str, cut_at(128)]
    message: Annotated[str, cut_at(8_192), Content("")] = ""
    traceback: Annotated[Annotated[str, AfterValidator(_cut_traceback)] | None, Content()] = None
    transient: bool = False
    code: Annotated[str, cut_at(128)] | None = None
    retry_after_seconds: Annotated[Seconds, AfterValidator(_cut_hint)] | None = None

    @property
    def says_no_such_model(self) -> bool:
        """Of a failed model call: the name is unknown or withdrawn, so another can help and time cannot.

        A provider may say so of a key that may not use the model; that stays a matter of the key.
        """
        return self.kind == FailureKind.PERMANENT and self.code == "model_not_found"


class ResultAttachment(FactModel):
    """A file of a result. `observed_bytes` is its size as the tool gave it; inline ones have their `data`.

    A `preview_only` one was not kept. `readable`: its text can be paged through by its `handle`.
    """

    name: Annotated[str, Field(min_length=1, max_length=512)]
    handle: Annotated[str, Field(min_length=1, max_length=256)]
    content_type: Annotated[str, Field(min_length=1, max_length=128)]
    size_bytes: Count
    observed_bytes: Count
    truncated: bool = False
    # Erased, an inline one stays one, and any other has none still.
    data: Annotated[Bytes | None, Content(b"")] = None
    stored: Literal["inline", "blob", "preview_only"]
    sha256: Digest | None = None
    readable: bool = True

    @model_validator(mode="after")
    def _data_is_inline(self) -> Self:
        if self.data is None if self.stored == "inline" else self.data:
            raise ValueError("an attachment has its data when it is stored inline, and only then")
        if self.observed_bytes < self.size_bytes:
            raise ValueError("an attachment has no more bytes than its tool gave")
        return self


class ModelTimings(FactModel):
    """Seconds: from the effect's start to the request, to the first token, and of the stream."""

    queue_wait_seconds: Seconds = 0.0
    time_to_first_token_seconds: Seconds | None = None
    stream_duration_seconds: Seconds = 0.0


AskedMode = Literal["native", "tool", "prompted"]
ToolSourceKind = Literal["code", "http", "builtin"]


class OfferedTool(FactModel):
    """A tool that a turn offered, and where it comes from; `digest` is over its description and schema."""

    name: str
    source: ToolSourceKind = "code"
    tool_class: ToolClass
    digest: Digest


Notice = Annotated[str, cut_at(2_048)]


class Sent(FactModel):
    """What a request held. Prompt and tools stand here only where their hash is new to the Run.

    `notices` stood at the end of its newest message, and stay there.
    `output_mode` is how an answer that must fit a schema was asked for.
    """

    prompt_hash: Digest
    tools_hash: Digest
    system_prompt: Annotated[str | None, Content()] = None
    tools: tuple[OfferedTool, ...] | None = None
    notices: Annotated[tuple[Notice, ...], Field(max_length=32), Content(())] = ()
    output_mode: AskedMode | None = None


class AnnouncedCall(FactModel):
    """A call of an answer: the name as the model wrote it, and the digest of what it asks for."""

    call_id: ToolCallId
    name: Annotated[str, cut_at(256)]
    arguments_digest: Digest
