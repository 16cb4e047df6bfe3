"""A transport whose names and connections are a test's: public addresses lead to a stub on this machine."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest
from pydantic import SecretStr

from psych_runtime.egress import connector
from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.sockets import dial
from psych_runtime.testing.http_stub import HttpStub
from psych_runtime_core.ports.egress import EgressDecision, EgressEvent, EgressRequest, IPAddress
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.scope import Scope

ANN = Scope(tenant="acme", principal="ann")
LOOPBACK = ip_address("127.0.0.1")
PUBLIC = "93.184.216.34"
CERTIFICATE = Path(__file__).with_name("egress_test.pem")

ASKED: dict[str, Any] = {"scope": ANN, "purpose": "tool"}


class Reach:
    """Where names lead and connections go. A name not in `names` leads nowhere, a number where it says.

    Connections to an address that is not of this machine go to `port` of this machine instead.
    """

    def __init__(self, port: int, names: Mapping[str, Sequence[str]] | None = None) -> None:
        self.port = port
        self.names = dict(names or {})
        self.resolved: list[str] = []
        self.dialled: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str | IPAddress]:
        self.resolved.append(host)
        if host in self.names:
            return self.names[host]
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(place[0]) for *_, place in found]

    async def dial(self, address: IPAddress, port: int) -> anyio.abc.ByteStream:
        self.dialled.append(str(address))
        return await dial(LOOPBACK, port if address.is_loopback else self.port)


def port_of(stub: HttpStub) -> int:
    return int(stub.url.rpartition(":")[2])


def reaching(
    monkeypatch: pytest.MonkeyPatch, stub: HttpStub, names: Mapping[str, Sequence[str]] | None = None
) -> Reach:
    """What a transport made with `resolver=` its `resolve` reaches from now on."""
    reach = Reach(port_of(stub), names)
    monkeypatch.setattr(connector, "dial", reach.dial)
    return reach


def secret(value: str = "s3cret", identity: str = "one") -> ResolvedCredential:
    return ResolvedCredential(identity, SecretStr(value))


def bound(origin: str, value: str = "s3cret", identity: str = "one", **how: str) -> CredentialBinding:
    async def resolve() -> ResolvedCredential:
        return secret(value, identity)

    return CredentialBinding(origin, resolve, **how)


class Policy:
    """Answers as told, and remembers what it was asked."""

    def __init__(self, *, hops: bool = True, addresses: bool = True) -> None:
        self.hops, self.addresses = hops, addresses
        self.asked: list[EgressRequest] = []
        self.judged: list[tuple[EgressRequest, str]] = []

    async def allow(self, request: EgressRequest) -> EgressDecision:
        self.asked.append(request)
        return EgressDecision(self.hops, "" if self.hops else "not today")

    async def allow_address(self, request: EgressRequest, address: IPAddress) -> EgressDecision:
        self.judged.append((request, str(address)))
        return EgressDecision(self.addresses, "" if self.addresses else "not there")


class Audit:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[EgressEvent] = []

    def __call__(self, event: EgressEvent) -> None:
        self.events.append(event)

    @property
    def outcomes(self) -> list[tuple[str, int, str]]:
        return [(event.path, event.hop, event.outcome) for event in self.events]


def trusting() -> ssl.SSLContext:
    """Trusts the certificate of the tests alone."""
    return ssl.create_default_context(cafile=str(CERTIFICATE))


def serving_tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    return context


@asynccontextmanager
async def turns_of_others() -> AsyncGenerator[Callable[[], int]]:
    """How often another task has run so far."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        yield lambda: ticks
        group.cancel_scope.cancel()
