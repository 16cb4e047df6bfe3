"""A model call that raised: what it failed of, and what it may have used and cost by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from psych_runtime.failures.classify import attribute, classify
from psych_runtime.tools.failures import failure_of
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, PsychError
from psych_runtime_core.records.facts import FailureKind, ToolFailure
from psych_runtime_core.usage import Cost, Usage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BrokenCall:
    """What its error tells; what the error of a stranger tells may be anything, and counts where it fits."""

    usage: Usage | None
    cost: Cost | None
    served_model: str | None
    service_tier: str | None

    @classmethod
    def of(cls, error: BaseException) -> BrokenCall:
        return cls(
            usage=_told(error, "usage", Usage),
            cost=_told(error, "cost", Cost),
            served_model=_told(error, "served_model", str),
            service_tier=_told(error, "service_tier", str),
        )

    @property
    def has_figures(self) -> bool:
        return self.usage is not None or self.cost is not None


def may_have_begun(error: BaseException) -> bool:
    """Whether a provider may have begun to answer before `error`: unless something says that it has not."""
    said = _told(error, "begun", bool)
    if said is not None:
        return said
    if isinstance(error, AccessDenied | CredentialNotFound) or attribute(error, "sent") is False:
        return False
    status = status_of(error)
    return not (isinstance(status, int) and status >= 400)


def status_of(error: BaseException) -> object:
    """The HTTP status that an error carries: one of ours as `status`, an SDK's as `status_code`."""
    own = attribute(error, "status")
    return attribute(error, "status_code") if own is None else own


def problem_of(error: BaseException) -> ToolFailure:
    """Why the call failed, for the log."""
    kind, retry_after = classify(error)
    seen = failure_of(error)
    return ToolFailure(
        kind=kind,
        message=seen.message,
        # An error of ours says it all, and what it came from may hold a key that a provider echoed.
        traceback=None if isinstance(error, PsychError) else seen.traceback,
        transient=kind is FailureKind.TRANSIENT,
        code=_told(error, "code", str),
        retry_after_seconds=retry_after,
    )


def _told(error: BaseException, name: str, kind: type[T]) -> T | None:
    told = attribute(error, name)
    return told if isinstance(told, kind) else None
