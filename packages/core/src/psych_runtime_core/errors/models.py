"""What goes wrong between a Run and its model."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypedDict, Unpack

from psych_runtime_core.errors.base import PsychError

if TYPE_CHECKING:
    from psych_runtime_core.usage import Cost, Usage


class ModelErrorKind(StrEnum):
    """What a failed model call means for the next try."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    CONTEXT_OVERFLOW = "context_overflow"
    CONTENT_FILTER = "content_filter"
    AUTH = "auth"


class ModelError(PsychError):
    """A model call failed. `retry_after_seconds` is the provider's own hint, None when it gave none.

    `code` is the provider's word or Psych's; `status` is that of the reply or of the error inside it, None
    where neither has one; `request_id` is the provider's id of the call. `usage` and `cost` are the last that
    the provider told before it broke off. `begun` says whether it may have begun to answer, and so may charge
    for it: None leaves that to `status`, of which 400 and above say that nothing was begun.
    """

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        retry_after_seconds: float | None = None,
        **source: Unpack[CallSource],
    ) -> None:
        self.kind, self.message, self.code, self.status = ModelErrorKind(kind), message, code, status
        self.retry_after_seconds = retry_after_seconds
        self.provider, self.model = source.get("provider"), source.get("model")
        self.request_id, self.begun = source.get("request_id"), source.get("begun")
        self.usage, self.cost = source.get("usage"), source.get("cost")
        self.served_model, self.service_tier = source.get("served_model"), source.get("service_tier")
        super().__init__(message)


class CallSource(TypedDict, total=False):
    """Which provider and model were called, the provider's id of the call, and what it told of its price."""

    provider: str | None
    model: str | None
    request_id: str | None
    begun: bool | None
    usage: Usage | None
    cost: Cost | None
    served_model: str | None
    service_tier: str | None


class ConversationError(PsychError):
    """A conversation no strict provider would take. It is a bug of Psych, never of a model."""

    def __init__(self, index: int, detail: str) -> None:
        self.index, self.detail = index, detail
        super().__init__(f"message {index}: {detail}")
