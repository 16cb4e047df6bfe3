"""What may leave the process: the question asked before each hop, and what is told of it after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Literal, Protocol, TypeAlias

from psych_runtime_core.scope import Scope

EgressPurpose: TypeAlias = Literal["model", "tool", "mcp", "oauth", "a2a", "sandbox", "other"]
IPAddress: TypeAlias = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRequest:
    """One hop of a request, as it would be sent: `url` whole, its host in ASCII, without a fragment.

    `configured` holds when the process's own code named the origin and this is the first hop; a URL out of a
    Spec, a reply or a document never is. `hop` counts redirects from 0.
    """

    scope: Scope
    purpose: EgressPurpose
    method: str
    url: str
    scheme: str
    host: str
    port: int
    configured: bool = False
    hop: int = 0

    @property
    def origin(self) -> str:
        """`scheme://host:port`, the port always there and an IPv6 host in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class EgressDecision:
    """Whether a hop may go; the reason of a refusal names the setting that would allow it."""

    allowed: bool
    reason: str = ""


class EgressPolicy(Protocol):
    """Decides what may leave. One that raises denies."""

    async def allow(self, request: EgressRequest) -> EgressDecision:
        """Whether this hop may be sent; asked before each."""
        ...

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        """Whether a connection may go to this address; asked of each resolved one, before each connection.

        Where all goes through a proxy, which resolves names itself, it is not asked.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressEvent:
    """One hop, done or refused. It holds no query, no header and no body.

    Bytes and seconds are of this hop: `bytes_in` as they came, `decoded_bytes_in` once unpacked. `run_id` and
    `address` are None where they are not known.
    """

    tenant: str
    principal: str | None
    run_id: str | None
    purpose: EgressPurpose
    method: str
    origin: str
    path: str
    address: str | None
    hop: int
    outcome: Literal["allowed", "refused", "failed"]
    reason: str = ""
    status: int | None = None
    bytes_out: int = 0
    bytes_in: int = 0
    decoded_bytes_in: int = 0
    seconds: float = 0.0


EgressAudit: TypeAlias = Callable[[EgressEvent], None]
