"""The one way out over HTTP, as a single call may use it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Unpack

from psych_runtime.egress.callers import ClientSettings, RequestSettings
from psych_runtime_core.scope import Scope

if TYPE_CHECKING:
    import httpx2

    from psych_runtime.egress.transport import HttpTransport
    from psych_runtime.runtime import Runtime


class ToolHttp:
    """The Runtime's transport, for the Scope of one call and with purpose `tool`: the policy sees all of it.

    `configured=` names origins that the tool's own code wrote down; never one that a model or a document
    gave.
    """

    def __init__(self, scope: Scope, runtime: Runtime | None = None) -> None:
        self.scope = scope
        self._runtime = runtime

    async def request(
        self, method: str, url: httpx2.URL | str, **settings: Unpack[RequestSettings]
    ) -> httpx2.Response:
        """Send a request and read its reply whole; as `HttpTransport.request`."""
        return await self._transport.request(method, url, scope=self.scope, purpose="tool", **settings)

    def stream(
        self, method: str, url: httpx2.URL | str, **settings: Unpack[RequestSettings]
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        """As `request`, with the body still to be read; as `HttpTransport.stream`."""
        return self._transport.stream(method, url, scope=self.scope, purpose="tool", **settings)

    def client(self, **settings: Unpack[ClientSettings]) -> httpx2.AsyncClient:
        """A client for an SDK; as `HttpTransport.client`."""
        return self._transport.client(self.scope, purpose="tool", **settings)

    @property
    def _transport(self) -> HttpTransport:
        if self._runtime is None:
            raise RuntimeError("this context has no way out: make it with ToolContext(…, runtime=runtime)")
        # Opened when it is first needed: most tools never reach out.
        return self._runtime.http
