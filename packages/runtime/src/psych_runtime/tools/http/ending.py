"""How an HTTP call ended, after its last try: a result, or the failure that the model is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from psych_runtime.failures.classify import classify
from psych_runtime.failures.statuses import may_pass, status_in_words
from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.failures import CallFailed, EndUnseen
from psych_runtime.tools.http.reply import HttpReply, excerpt_of, value_of
from psych_runtime.tools.http.tries import Tried, hint_of
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import AccessDenied, RequestFailed, ResponseTooLarge
from psych_runtime_core.records.facts import FailureKind, ToolFailure


@dataclass(frozen=True, slots=True)
class HttpEnd:
    """Of which tool; `only_reads`: whatever became of a request, nothing was changed by it."""

    tool: str
    timeout_seconds: float
    only_reads: bool

    def result(self, tried: Tried, masks: Masks, now: datetime) -> object:
        """The result of the last try. Raises `CallFailed` and `EndUnseen`."""
        if isinstance(tried, RequestFailed):
            self._unanswered(tried)
        if not tried.is_success:
            raise CallFailed(_answered(tried, masks, now))
        return value_of(tried, self.tool)

    def _unanswered(self, failed: RequestFailed) -> NoReturn:
        """Of a request that may have been delivered, and does more than read, nobody knows the end."""
        if failed.phase == "total":
            kind, text = FailureKind.TIMEOUT, wording.no_reply(self.timeout_seconds)
        else:
            kind, text = FailureKind.HTTP_ERROR, wording.failed(str(failed), transient=True)
        open_end = failed.sent and not self.only_reads
        failure = ToolFailure(kind=kind, message=text, transient=True)
        raise (EndUnseen if open_end else CallFailed)(failure) from failed


def _answered(reply: HttpReply, masks: Masks, now: datetime) -> ToolFailure:
    code, answered = str(reply.status), status_in_words(reply.status)
    if reply.leads_to is not None:
        text = wording.http_redirect(answered, reply.leads_to)
        return ToolFailure(kind=FailureKind.HTTP_REDIRECT, message=text, code=code)
    transient = may_pass(reply.status)
    # A secret that is cut in two is one that no mask finds.
    text = wording.http_error(answered, masks.text(excerpt_of(reply)), transient=transient)
    return ToolFailure(
        kind=FailureKind.HTTP_ERROR,
        message=text,
        transient=transient,
        code=code,
        retry_after_seconds=hint_of(reply, now),
    )


def refused(tool: str, error: AccessDenied | ResponseTooLarge) -> CallFailed:
    """What no other try would change: nothing may be sent there, or no reply of this size is read."""
    if isinstance(error, AccessDenied):
        # The reason is the operator's, in the traceback: it may tell which names lead inward.
        text = wording.access_denied(tool, "The address it leads to may not be reached from here")
        return CallFailed(ToolFailure(kind=FailureKind.ACCESS_DENIED, message=text))
    text = wording.result_too_large(error.limit_bytes)
    return CallFailed(ToolFailure(kind=FailureKind.RESULT_TOO_LARGE, message=text))


def not_looked_up(credential: str, error: Exception) -> CallFailed:
    """A resolver is foreign code, and its words may name what no model should read."""
    transient = classify(error)[0] is FailureKind.TRANSIENT
    kind = type(error).__name__
    text = wording.credential_unavailable(credential, kind, transient=transient)
    return CallFailed(ToolFailure(kind=kind, message=text, transient=transient))
