"""Performs one call of an HTTP tool: sends its request, and sends it again where that may be done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import urljoin

from psych_runtime.egress.credential import CredentialBinding, sent_form
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.redirects import is_redirect
from psych_runtime.egress.target import origin_of
from psych_runtime.pace import AT_ONCE, beside
from psych_runtime.tools.context import ToolContext, secrets_of
from psych_runtime.tools.convert import Converted, encoded
from psych_runtime.tools.http.ending import HttpEnd, not_looked_up, refused, unsendable
from psych_runtime.tools.http.placement import HttpRequest
from psych_runtime.tools.http.reply import HttpReply
from psych_runtime.tools.http.tries import Tried, TryTerms, pause_before_next
from psych_runtime.tools.output import File
from psych_runtime.tools.problem import Problem
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, RequestFailed, ResponseTooLarge
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.spec.http_tool import HttpTool


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One call: of which tool, what it sends, for whom, how often, and what its end means."""

    tool: HttpTool
    request: HttpRequest
    context: ToolContext
    clock: Clock
    terms: TryTerms
    end: HttpEnd

    async def made(self) -> Converted | Problem:
        """The result. Raises `CallFailed` and `CredentialNotFound`."""
        number = 1
        while True:
            tried = await self._tried()
            pause = pause_before_next(number, tried, self.terms, self.clock.now())
            if pause is None:
                end = partial(self._ended, tried, self.clock.now())
                return await beside(end) if _is_large(tried) else end()
            await self.clock.sleep(pause)
            number += 1

    def _ended(self, tried: Tried, now: datetime) -> Converted | Problem:
        result = self.end.result(tried, secrets_of(self.context).masks, now)
        return encoded(None, (result,)) if isinstance(result, File) else encoded(result)

    async def _tried(self) -> Tried:
        try:
            return await self._reply()
        except RequestFailed as failed:
            return failed
        except (AccessDenied, ResponseTooLarge) as error:
            raise refused(self.tool.name, error) from error

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
            timeouts=HttpTimeouts(read=None, write=None, total=self.tool.timeout_seconds),
        )
        told = {name.lower(): value for name, value in response.headers.items()}
        leads_to = _target(request.url, response.headers["location"]) if is_redirect(response) else None
        return HttpReply(response.status_code, told, response.content, leads_to)

    def _credential(self) -> CredentialBinding | None:
        """Looked up anew at each try, so that a secret may be rotated between two."""
        tool = self.tool
        if tool.credential is None:
            return None
        name, secrets = tool.credential, secrets_of(self.context)

        async def resolve() -> ResolvedCredential:
            try:
                found = await secrets.resolve(name)
            except CredentialNotFound:
                raise
            except Exception as error:
                raise not_looked_up(name, error) from error
            try:
                sent_form(found.secret)
            except ValueError as fault:
                raise unsendable(name, fault) from fault
            return found

        return CredentialBinding(self.request.url, resolve, tool.credential_header, tool.credential_scheme)


def _is_large(tried: Tried) -> bool:
    return isinstance(tried, HttpReply) and len(tried.body) > AT_ONCE


def _target(url: str, location: str) -> str:
    """The origin that a redirect leads to; its path may hold anything."""
    try:
        return origin_of(urljoin(url, location))
    except (AccessDenied, ValueError):
        return "an address that cannot be read"
