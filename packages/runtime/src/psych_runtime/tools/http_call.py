"""Performs one call of an HTTP tool: sends, tries again where it may, and says how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import NoReturn

from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.redirects import REDIRECTS
from psych_runtime.egress.target import origin_of
from psych_runtime.model.transient import classify
from psych_runtime.tools.calls import CallFailed, EndUnseen
from psych_runtime.tools.context import ToolContext, secrets_of
from psych_runtime.tools.http_placement import HttpRequest
from psych_runtime.tools.http_reply import HttpReply, excerpt_of, value_of
from psych_runtime.tools.http_tries import Tried, TryTerms, hint_of, may_pass, pause_before_next
from psych_runtime_core.clock import Clock
from psych_runtime_core.engine import wording
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, RequestFailed, ResponseTooLarge
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.records.facts import FailureKind, ToolFailure
from psych_runtime_core.spec.http_tool import HttpTool


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One call: the tool as its Spec has it, the request that its arguments make, and whose call it is.

    `only_reads`: whatever became of a request, nothing was changed by it. `safe`: it may be sent twice.
    """

    tool: HttpTool
    request: HttpRequest
    context: ToolContext
    clock: Clock
    only_reads: bool
    safe: bool

    async def made(self) -> object:
        """The result. Raises `CallFailed`, `EndUnseen`, `CredentialNotFound`, and `ValueError`."""
        terms = TryTerms(self.safe, self.context.idempotency_key, self.context.deadline)
        for number in count(1):
            tried = await self._tried()
            pause = pause_before_next(number, tried, terms, self.clock.now())
            if pause is None:
                return self._result(tried)
            await self.clock.sleep(pause)
        raise AssertionError("the tries are counted")

    async def _tried(self) -> Tried:
        try:
            return await self._reply()
        except RequestFailed as failed:
            return failed
        except AccessDenied as denied:
            text = wording.access_denied(self.tool.name, denied.reason)
            raise _failed(FailureKind.ACCESS_DENIED, text) from denied
        except ResponseTooLarge as error:
            text = wording.result_too_large(error.limit_bytes)
            raise _failed(FailureKind.RESULT_TOO_LARGE, text) from error

    async def _reply(self) -> HttpReply:
        request, headers = self.request, dict(self.request.headers)
        if self.tool.idempotency_header is not None:
            headers[self.tool.idempotency_header] = self.context.idempotency_key
        response = await self.context.http.request(
            request.method,
            request.url,
            headers=headers,
            content=request.body,
            credential=self._credential(),
            timeouts=HttpTimeouts(read=None, write=None, pool=None, total=self.tool.timeout_seconds),
        )
        told = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(response.status_code, told, response.content)

    def _credential(self) -> CredentialBinding | None:
        name = self.tool.credential
        if name is None:
            return None
        secrets = secrets_of(self.context)

        async def resolve() -> ResolvedCredential:
            try:
                return await secrets.resolve(name)
            except CredentialNotFound:
                raise
            except Exception as error:
                # A resolver is foreign code, and its words may name what no model should read.
                transient = classify(error)[0] is FailureKind.TRANSIENT
                kind = type(error).__name__
                text = wording.credential_unavailable(name, kind, transient=transient)
                raise _failed(kind, text, transient=transient) from error

        header, scheme = self.tool.credential_header, self.tool.credential_scheme
        return CredentialBinding(self.request.url, resolve, header, scheme)

    def _result(self, tried: Tried) -> object:
        if isinstance(tried, RequestFailed):
            self._unanswered(tried)
        if tried.is_success:
            return value_of(tried, self.tool.name)
        if tried.status in REDIRECTS and "location" in tried.headers:
            text = wording.http_redirect(tried.told, self._target(tried.headers["location"]))
            raise _failed(FailureKind.HTTP_REDIRECT, text, code=str(tried.status))
        transient = may_pass(tried.status)
        said = secrets_of(self.context).masks.text(excerpt_of(tried))
        text = wording.http_error(tried.told, said, transient=transient)
        hint = hint_of(tried, self.clock.now())
        raise _failed(FailureKind.HTTP_ERROR, text, transient=transient, code=str(tried.status), hint=hint)

    def _unanswered(self, failed: RequestFailed) -> NoReturn:
        """No reply, after all tries: of a request that was sent and does more than read, nobody knows."""
        if failed.phase == "total":
            kind, text = FailureKind.TIMEOUT, wording.no_reply(self.tool.timeout_seconds)
        else:
            kind, text = FailureKind.HTTP_ERROR, wording.failed(str(failed), transient=True)
        failure = ToolFailure(kind=kind, message=text, transient=True)
        open_end = failed.sent and not self.only_reads
        raise (EndUnseen if open_end else CallFailed)(failure) from failed

    def _target(self, location: str) -> str:
        import httpx2

        try:
            return origin_of(httpx2.URL(self.request.url).join(location))
        except (AccessDenied, httpx2.InvalidURL, ValueError):
            return "an address that cannot be read"


def _failed(
    kind: str, text: str, *, transient: bool = False, code: str | None = None, hint: float | None = None
) -> CallFailed:
    return CallFailed(
        ToolFailure(kind=kind, message=text, transient=transient, code=code, retry_after_seconds=hint)
    )
