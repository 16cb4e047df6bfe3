"""Where connections come from: a name is resolved once, each address judged, none other connected to."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import inf
from socket import SOCK_STREAM
from typing import TypeAlias, cast

import anyio
import httpcore2

from psych_runtime.egress.eyeballs import Connected, first_connected
from psych_runtime.egress.hop import hop_of_this_task
from psych_runtime.egress.judge import enforce, judged_addresses
from psych_runtime.egress.sockets import dial
from psych_runtime.egress.wire import Unusable, Wire, faults
from psych_runtime.verdicts import NoVerdict, verdict_of
from psych_runtime_core.ports.egress import EgressPolicy, IPAddress

logger = logging.getLogger("psych_runtime.egress")

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str | IPAddress]]]
"""Gives the addresses of a host, the best first; raises `OSError` when it has none."""


async def resolve(host: str, port: int) -> Sequence[str | IPAddress]:
    """What the resolver of the system makes of a host, odd spellings of addresses included."""
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    return [place[0] for *_, place in found]


class Connector(httpcore2.AsyncNetworkBackend):
    """Connects for the hop of the running task. With `policy` None nobody is asked: the way to a proxy."""

    def __init__(self, policy: EgressPolicy | None, resolver: Resolver | None) -> None:
        self._policy = policy
        self._resolve = resolver or resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - of the interface; no pool of ours sets it
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to one of the host's addresses. `AccessDenied` when the policy refuses any of them."""
        with faults(httpcore2.ConnectTimeout, httpcore2.ConnectError), anyio.fail_after(timeout):
            stream, address = await self._connected(host, port)
        return Wire(stream, str(address))

    async def _connected(self, host: str, port: int) -> Connected:
        addresses = await self._addresses(host, port)
        if not addresses:
            raise Unusable("its name leads to no address")
        if self._policy is not None:
            asked = hop_of_this_task.get().asked
            enforce(asked, await judged_addresses(self._policy, asked, addresses))
        return await first_connected(addresses, port, dial)

    async def _addresses(self, host: str, port: int) -> list[IPAddress]:
        """A resolver may be the consumer's own, and raise or give anything."""
        try:
            return await verdict_of(lambda: self._resolve(host, port), _addresses_in, inf)
        except NoVerdict as none:
            # The resolver of the system encodes a name before it looks it up.
            if isinstance(none.__cause__, OSError | UnicodeError):
                raise Unusable("its name cannot be looked up") from None
            logger.error("the resolver of egress failed", exc_info=none.__cause__)
            raise Unusable("the resolver failed; the log has its error") from None


def _addresses_in(found: object) -> list[IPAddress]:
    if isinstance(found, str | bytes) or not isinstance(found, Sequence):
        raise TypeError(f"a resolver gives a sequence of addresses, not {type(found).__name__}")
    return [_address(each) for each in cast("Sequence[object]", found)]


def _address(found: object) -> IPAddress:
    if isinstance(found, IPv4Address | IPv6Address):
        return found
    # A number would be taken for an address too.
    if not isinstance(found, str):
        raise TypeError(f"an address is a str or an IPAddress, not {type(found).__name__}")
    return ip_address(found)
