"""The one class in the project that makes an HTTP client."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http.cookiejar import Cookie, CookieJar
from typing import Unpack

import httpx2

from psych_runtime.egress.askable import require_plain, require_policy
from psych_runtime.egress.audit import Auditor
from psych_runtime.egress.callers import Caller, Sending, TransportClientSettings, TransportRequestSettings
from psych_runtime.egress.connector import Connector, Resolver
from psych_runtime.egress.hop import Hop
from psych_runtime.egress.judge import enforce, judged
from psych_runtime.egress.limits import MAX_RESPONSE_BYTES, HttpTimeouts
from psych_runtime.egress.policy import PublicOnly, judges_addresses
from psych_runtime.egress.pool_settings import PoolSettings
from psych_runtime.egress.pools import Pools
from psych_runtime.egress.proxy import ProxyConfig
from psych_runtime.egress.redirects import is_redirect, led_on
from psych_runtime.egress.seam import Ground, HeaderSource, Seam
from psych_runtime.egress.target import origin_of
from psych_runtime_core.errors import AccessDenied, RequestFailed
from psych_runtime_core.ports.egress import EgressAudit, EgressPolicy, EgressPurpose
from psych_runtime_core.scope import Scope


class HttpTransport:
    """Sends what the policy lets go, to where it lets it go, and hands on replies within their bounds.

    May be made before any event loop, and used on several, one after another or at once. `headers` gives what
    each request of a scope and purpose carries unless its caller says otherwise. Of each pool so many
    `connections` are in use at once, and further requests wait for one; `keepalive` of them are kept for the
    next. A tenant has a pool for each purpose, credential and kind of origin; of those that are not in use
    a loop keeps at most `max_pools`.
    """

    def __init__(  # noqa: PLR0913 - the settings of the transport, all keywords
        self,
        *,
        policy: EgressPolicy | None = None,
        max_response_bytes: int | None = MAX_RESPONSE_BYTES,
        timeouts: HttpTimeouts | None = None,
        headers: HeaderSource | None = None,
        proxy: ProxyConfig | None = None,
        ssl_context: ssl.SSLContext | None = None,
        audit: EgressAudit | None = None,
        resolver: Resolver | None = None,
        connections: int = 100,
        keepalive: int = 20,
        keepalive_seconds: float = 30.0,
        max_pools: int = 256,
    ) -> None:
        policy = PublicOnly() if policy is None else policy
        require_policy(policy)
        require_plain(audit=audit, headers=headers)
        if proxy is not None and judges_addresses(policy) and not proxy.enforces_policy:
            raise ValueError(
                "a proxy resolves names, so the policy cannot judge their addresses: give the proxy the same "
                "rules and say so with enforces_policy=True, or use AllowAllEgress()"
            )
        if max_pools < 1:
            raise ValueError("max_pools is below 1: a request needs a pool")
        self._max_response_bytes, self._timeouts = max_response_bytes, timeouts or HttpTimeouts()
        self._ground = Ground(
            policy=policy,
            headers=headers or _no_headers,
            auditor=Auditor(audit),
            pools=Pools(max_pools, connections),
            pool_settings=PoolSettings(
                connector=Connector(policy if proxy is None else None, resolver),
                keepalive=min(keepalive, connections),
                keepalive_seconds=keepalive_seconds,
                ssl_context=ssl_context,
                proxy=proxy,
            ),
        )

    def client(self, scope: Scope, **options: Unpack[TransportClientSettings]) -> httpx2.AsyncClient:
        """A client for an SDK. All it does goes through this transport; what it raises is the transport's."""
        self._complete(options)
        return self._client(Caller.of({"scope": scope, **options}))

    async def request(
        self, method: str, url: httpx2.URL | str, **options: Unpack[TransportRequestSettings]
    ) -> httpx2.Response:
        """Send a request and read its reply whole; a status of 400 and more is a reply like any other.

        Raises `AccessDenied`, `ResponseTooLarge`, `RequestFailed`, what resolving the credential raises, and
        `ValueError` for what cannot be sent.
        """
        async with self.stream(method, url, **options) as response:
            await response.aread()
        return response

    def stream(
        self, method: str, url: httpx2.URL | str, **options: Unpack[TransportRequestSettings]
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        """As `request`, with the body still to be read; leaving closes the connection if it was not."""
        self._complete(options)
        return self._streamed(method, url, Sending.of(options))

    async def authorize(
        self,
        method: str,
        url: httpx2.URL | str,
        *,
        scope: Scope,
        purpose: EgressPurpose,
        configured: Collection[str] = (),
    ) -> None:
        """Ask whether this could be sent, without sending it or resolving its name. Raises `AccessDenied`."""
        asked = Seam(self._ground, Caller(scope=scope, purpose=purpose, configured=configured)).asked(
            method, url
        )
        decision = await judged(self._ground.policy, asked)
        try:
            enforce(asked, decision)
        except AccessDenied as error:
            self._ground.auditor.ended(Hop(asked), error)
            raise

    async def aclose(self) -> None:
        """Close every connection that was made on this event loop."""
        await self._ground.pools.aclose()

    def _complete(self, options: TransportClientSettings) -> None:
        options.setdefault("max_response_bytes", self._max_response_bytes)
        if options.get("timeouts") is None:
            options["timeouts"] = self._timeouts

    def _client(self, caller: Caller) -> httpx2.AsyncClient:
        timeouts = caller.effective_timeouts
        client = httpx2.AsyncClient(
            auth=caller.auth,
            cookies=_NoCookies(),
            timeout=httpx2.Timeout(
                connect=timeouts.connect, read=timeouts.read, write=timeouts.write, pool=timeouts.pool
            ),
            follow_redirects=False,
            transport=Seam(self._ground, caller),
            trust_env=False,
        )
        # What httpx2 sends by itself would hide what is laid under the headers of a caller.
        client.headers.clear()
        client.headers.update(caller.headers)
        return client

    @asynccontextmanager
    async def _streamed(
        self, method: str, url: httpx2.URL | str, sending: Sending
    ) -> AsyncGenerator[httpx2.Response]:
        client = self._client(sending)
        request, home = self._first(client, method, url, sending), True
        response = await client.send(request, stream=True)
        try:
            for left in reversed(range(sending.redirects + 1)):
                if not (sending.redirects and is_redirect(response)):
                    break
                await response.aclose()
                left_from, request = request.url.origin, _next(request, response, left)
                home = home and request.url.origin == left_from
                response = await client.send(request, stream=True, auth=sending.auth if home else None)
            yield response
        finally:
            await response.aclose()

    def _first(
        self, client: httpx2.AsyncClient, method: str, url: httpx2.URL | str, sending: Sending
    ) -> httpx2.Request:
        try:
            whole = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError):
            # Refused as any other, and told of.
            Seam(self._ground, sending).asked(method, url)
            raise
        try:
            if sending.params:
                whole = whole.copy_merge_params(sending.params)
        except httpx2.InvalidURL:
            raise ValueError("params= makes a URL that is none: give shorter ones") from None
        return client.build_request(method, whole, json=sending.json, content=sending.content)


def _next(request: httpx2.Request, response: httpx2.Response, left: int) -> httpx2.Request:
    led = led_on(request, response) if left else "it was led on too often; raise redirects="
    if isinstance(led, str):
        raise RequestFailed(origin_of(request.url), "redirect", led, sent=True)
    return led


def _no_headers(scope: Scope, purpose: EgressPurpose) -> Mapping[str, str]:  # noqa: ARG001 - of its kind
    return {}


class _NoCookies(CookieJar):
    """A jar that keeps nothing: a cookie would tie the requests of one tenant to those of another."""

    def set_cookie(self, cookie: Cookie) -> None:
        """Let it go."""

    def extract_cookies(self, response: object, request: object) -> None:
        """Read none: a head has room for thousands."""
