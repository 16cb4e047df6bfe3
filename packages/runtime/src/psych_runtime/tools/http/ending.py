"""How an HTTP call ended, after its last try: a result, or the failure that the model is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from psych_runtime.failures.classify import classify
from psych_runtime.failures.statuses import (
    end_is_unseen,
    may_pass,
    says_nothing_was_done,
    status_in_words,
)
from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.failures import CallFailed, EndUnseen
from psych_runtime.tools.http.reply import HttpReply, excerpt_of, value_of
from psych_runtime.tools.http.tries import Tried, hint_of
from psych_runtime.tools.output import File
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import AccessDenied, RequestFailed, ResponseTooLarge
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records.facts import FailureKind, ToolFailure


@dataclass(frozen=True, slots=True)
class HttpEnd:
    """Of which tool; `only_reads`: whatever became of a request, nothing was changed by it; `safe`: it may
    be done twice.
    """

    tool: str
    timeout_seconds: float
    only_reads: bool
    safe: bool

    def result(self, tried: Tried, masks: Masks, now: datetime) -> Json | File:
        """The result of the last try. Raises `CallFailed` and `EndUnseen`."""
        if isinstance(tried, RequestFailed):
            self._unanswered(tried)
        if not tried.is_success:
            self._said_no(tried, masks, now)
        return value_of(tried, self.tool)

    def _unanswered(self, failed: RequestFailed) -> NoReturn:
        """Of a request that may have been delivered, and does more than read, nobody knows the end."""
        open_end = failed.sent and not self.only_reads
        if failed.phase == "total":
            kind, text = FailureKind.TIMEOUT, wording.no_reply(self.timeout_seconds, may_stand=open_end)
        else:
            # Where it led is the operator's to know, in log and traceback.
            kind, reached = FailureKind.HTTP_ERROR, failed.phase != "connect"
            text = wording.reply_failed(failed.detail, reached=reached, sent=failed.sent, may_stand=open_end)
        failure = ToolFailure(kind=kind, message=text, transient=True)
        raise (EndUnseen if open_end else CallFailed)(failure) from failed

    def _said_no(self, reply: HttpReply, masks: Masks, now: datetime) -> NoReturn:
        """Of what a gateway answered in its server's place, the end is as unseen as without a reply."""
        code, answered = str(reply.status), status_in_words(reply.status)
        if reply.leads_to is not None:
            text = wording.http_redirect(answered, reply.leads_to)
            raise CallFailed(ToolFailure(kind=FailureKind.HTTP_REDIRECT, message=text, code=code))
        open_end = end_is_unseen(reply.status) and not self.only_reads
        hint, transient = hint_of(reply, now), may_pass(reply.status)
        may_stand = open_end or self._may_have_done(reply.status, hint)
        # A secret that is cut in two is one that no mask finds.
        said = masks.beginning(excerpt_of(reply), wording.MAX_TEXT)
        failure = ToolFailure(
            kind=FailureKind.HTTP_ERROR,
            message=wording.http_error(answered, said, transient=transient, may_stand=may_stand),
            transient=transient,
            code=code,
            retry_after_seconds=hint,
        )
        raise (EndUnseen if open_end else CallFailed)(failure)

    def _may_have_done(self, status: int, hint: float | None) -> bool:
        """Whether a second call, or another one instead, might do its work twice, and wrongly so."""
        harmless = self.only_reads or (self.safe and may_pass(status))
        return not harmless and not says_nothing_was_done(status, asks_to_wait=hint is not None)


def refused(tool: str, error: AccessDenied | ResponseTooLarge) -> CallFailed:
    """What no other try would change: nothing may be sent there, or no reply of this size is read."""
    if isinstance(error, AccessDenied):
        # The reason is the operator's, in log and traceback: it may tell which names lead inward.
        text = wording.address_denied(tool)
        return CallFailed(ToolFailure(kind=FailureKind.ACCESS_DENIED, message=text))
    text = wording.result_too_large(error.limit_bytes)
    return CallFailed(ToolFailure(kind=FailureKind.RESULT_TOO_LARGE, message=text))


def unsendable(credential: str, fault: ValueError) -> CallFailed:
    """A secret that no header can carry is as good as none."""
    text = wording.credential_unsendable(credential, str(fault))
    return CallFailed(ToolFailure(kind=FailureKind.CREDENTIAL_NOT_FOUND, message=text))


def not_looked_up(credential: str, error: Exception) -> CallFailed:
    """A resolver is foreign code, and its words may name what no model should read."""
    transient = classify(error)[0] is FailureKind.TRANSIENT
    kind = type(error).__name__
    text = wording.credential_unavailable(credential, kind, transient=transient)
    return CallFailed(ToolFailure(kind=kind, message=text, transient=transient))
