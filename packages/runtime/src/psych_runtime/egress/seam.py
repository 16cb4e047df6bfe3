"""What stands below every client: each hop it makes, or an SDK around it, is judged, bounded, told of."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

import httpcore2
import httpx2

from psych_runtime.egress.audit import Auditor
from psych_runtime.egress.bodies import Body, asked_for, decoder_for, refuse_stated_length
from psych_runtime.egress.callers import Caller
from psych_runtime.egress.credential import resolved
from psych_runtime.egress.headers import checked_method, outgoing
from psych_runtime.egress.hop import Hop, hop_of_this_task
from psych_runtime.egress.judge import enforce, judged
from psych_runtime.egress.passage import HopTimeouts, Passage
from psych_runtime.egress.pool_settings import PoolSettings
from psych_runtime.egress.pools import Identity, PoolKey, Pools, SharedPool
from psych_runtime.egress.proxy import proxy_headers
from psych_runtime.egress.redirects import Journey
from psych_runtime.egress.replies import Reply, handed_on
from psych_runtime.egress.target import hop_of, origin_of
from psych_runtime.egress.trail import Trail
from psych_runtime_core.errors import AccessDenied, RequestFailed
from psych_runtime_core.ports.egress import EgressPolicy, EgressPurpose, EgressRequest
from psych_runtime_core.scope import Scope

logger = logging.getLogger("psych_runtime.egress")

HeaderSource: TypeAlias = Callable[[Scope, EgressPurpose], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all clients of a transport stand on."""

    policy: EgressPolicy
    headers: HeaderSource
    auditor: Auditor
    pools: Pools
    pool_settings: PoolSettings


class Seam(httpx2.AsyncBaseTransport):
    """The transport of one client. Closing the client leaves the pools, which are others' too."""

    def __init__(self, ground: Ground, caller: Caller) -> None:
        self._ground, self._caller = ground, caller

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One hop. Raises `AccessDenied`, `ResponseTooLarge`, `RequestFailed`, and as its credential does."""
        ground, total = self._ground, self._caller.effective_timeouts.total
        checked_method(request.method)
        before = Trail.before(request, total)
        hop = Hop(self.asked(request.method, request.url, len(before.journey.steps)))
        trail = before.on_to(hop.asked, request)
        timeouts = HopTimeouts(request.extensions.get("timeout", {}), total, trail.deadline)
        passage = Passage(hop, timeouts, ground.pools, ground.auditor)
        token = hop_of_this_task.set(hop)
        try:
            with passage.bounded():
                headers = outgoing(request, self._under(hop.asked), strayed=trail.journey.strayed)
                await self._enter(passage, trail.journey, request, headers)
                return await self._send(passage, request, headers)
        except BaseException as error:
            await passage.end(error)
            raise
        finally:
            hop_of_this_task.reset(token)

    def asked(self, method: str, url: httpx2.URL | str, hop: int = 0) -> EgressRequest:
        """The question to the policy. `AccessDenied`, told of as any refusal, where there is none to ask."""
        caller = self._caller
        try:
            return hop_of(
                method,
                url,
                scope=caller.scope,
                purpose=caller.purpose,
                configured=caller.configured,
                hop=hop,
            )
        except AccessDenied as error:
            nowhere = EgressRequest(
                scope=caller.scope,
                purpose=caller.purpose,
                method=method,
                url="",
                scheme="",
                host="",
                port=0,
                hop=hop,
            )
            self._ground.auditor.ended(Hop(nowhere), error)
            raise

    def _under(self, asked: EgressRequest) -> Mapping[str, str]:
        """What the transport lays under the caller's headers. It is the consumer's code that says."""
        try:
            return dict(self._ground.headers(asked.scope, asked.purpose))
        except BaseException:
            # No cancellation of this task comes out of a function that is not awaited.
            logger.exception("the headers= of the transport failed")
            detail = "the headers= of the transport failed; the log has the error"
            raise RequestFailed(asked.origin, "connect", detail, sent=False) from None

    async def _allow(self, asked: EgressRequest, journey: Journey, request: httpx2.Request) -> None:
        """Raises unless the hop may be made."""
        refusal = journey.refusal(body=_has_body(request))
        if refusal is not None:
            raise RequestFailed(journey.steps[-2].origin, "redirect", refusal, sent=True)
        enforce(asked, await judged(self._ground.policy, asked))

    async def _enter(
        self, passage: Passage, journey: Journey, request: httpx2.Request, headers: httpx2.Headers
    ) -> None:
        """Into a pool with a free connection, if the hop may be made.

        After a wait for one all is asked anew: a secret that was looked up before may be out of date.
        """
        asked, at_once = passage.hop.asked, False
        while not at_once:
            await self._allow(asked, journey, request)
            # None on the way back: whoever led a request home has chosen what it asks for there.
            identity = None if journey.strayed else await self._add_credential(headers, asked)
            at_once = await passage.enter(await self._pool(asked, identity))

    async def _send(
        self, passage: Passage, request: httpx2.Request, headers: httpx2.Headers
    ) -> httpx2.Response:
        caller, hop = self._caller, passage.hop
        codings = asked_for(headers)
        reply = await passage.send(_core_request(request, headers, hop))
        received = httpx2.Headers(reply.headers)
        refuse_stated_length(hop, received, caller.max_response_bytes)
        decoder = decoder_for(received, codings, passage.origin)
        return Reply(
            reply.status,
            headers=handed_on(received),
            stream=Body(passage, decoder, caller.max_response_bytes),
        )

    async def _add_credential(self, headers: httpx2.Headers, asked: EgressRequest) -> Identity | None:
        """Whose credential the hop uses, if it uses one."""
        caller = self._caller
        if caller.credential is not None and caller.credential.fits(asked, caller.configured):
            credential = await resolved(caller.credential.resolve, asked.origin)
            headers[caller.credential.header] = caller.credential.value(credential)
            return caller.scope.principal, credential.identity
        return None if caller.auth is None else (caller.scope.principal, None)

    async def _pool(self, asked: EgressRequest, identity: Identity | None) -> SharedPool:
        settings = self._ground.pool_settings
        told, proxy_identity = dict[str, str](), None
        if settings.proxy is not None and settings.proxy.credential is not None:
            credential = await resolved(settings.proxy.credential, origin_of(settings.proxy.url))
            told, proxy_identity = proxy_headers(credential), credential.identity
        key = PoolKey(
            asked.scope.tenant,
            asked.purpose,
            asked.configured,
            secure=asked.scheme == "https",
            identity=identity,
            proxy_identity=proxy_identity,
        )
        tls = await settings.tls(asked.scheme)
        return await self._ground.pools.take(key, lambda: settings.make(tls, told))


def _has_body(request: httpx2.Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"


def _core_request(request: httpx2.Request, headers: httpx2.Headers, hop: Hop) -> httpcore2.Request:
    url = request.url
    place = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    return httpcore2.Request(
        method=request.method,
        url=place,
        headers=headers.raw,
        content=_counted(request, hop),
        # No other extension is for a caller to set: they reach past the URL that was judged. The dot that may
        # end a name is no part of what a certificate is for.
        extensions={"timeout": request.extensions.get("timeout", {}), "sni_hostname": hop.asked.host},
    )


async def _counted(request: httpx2.Request, hop: Hop) -> AsyncIterator[bytes]:
    try:
        async for data in cast("AsyncIterator[bytes]", request.stream):
            hop.bytes_out += len(data)
            yield data
    except httpx2.StreamConsumed:
        detail = "its body was a stream, which cannot be sent again"
        raise RequestFailed(hop.asked.origin, "redirect", detail, sent=hop.sent) from None
