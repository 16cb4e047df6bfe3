"""Several addresses of one name: in which order they are tried, and which connection is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from ipaddress import ip_address

import anyio
import anyio.abc
import pytest

from psych_runtime.egress.eyeballs import alternating, first_connected
from psych_runtime.testing.virtual import run_virtual
from psych_runtime_core.ports.egress import IPAddress


class Stream(anyio.abc.ByteStream):
    def __init__(self, address: str) -> None:
        self.address, self.closed = address, False

    async def receive(self, max_bytes: int = 65536) -> bytes:
        raise anyio.EndOfStream

    async def send(self, item: bytes) -> None: ...

    async def send_eof(self) -> None: ...

    async def aclose(self) -> None:
        self.closed = True


class Network:
    """Each address takes so many seconds to connect, less than nothing to refuse after so many."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.seconds = seconds
        self.tried: list[tuple[str, float]] = []
        self.streams: list[Stream] = []
        self.cancelled: list[str] = []

    async def dial(self, address: IPAddress, port: int) -> anyio.abc.ByteStream:
        name = str(address)
        self.tried.append((name, round(asyncio.get_running_loop().time(), 3)))
        try:
            await anyio.sleep(abs(self.seconds[name]))
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        if self.seconds[name] < 0:
            raise ConnectionRefusedError(111, name)
        self.streams.append(Stream(name))
        return self.streams[-1]


def connect(network: Network) -> str:
    async def main() -> str:
        start = asyncio.get_running_loop().time()
        addresses = [ip_address(name) for name in network.seconds]
        stream, address = await first_connected(addresses, 443, network.dial)
        network.tried = [(name, round(at - start, 3)) for name, at in network.tried]
        assert isinstance(stream, Stream)
        assert stream.address == str(address)
        assert [each.closed for each in network.streams] == [each is not stream for each in network.streams]
        return str(address)

    return run_virtual(main)


A, B, SIX, SEVEN = "192.0.2.1", "192.0.2.2", "2001:db8::6", "2001:db8::7"


@pytest.mark.parametrize(
    ("seconds", "taken", "tried"),
    [
        pytest.param({A: 0.1, B: 0.1}, A, [(A, 0.0)], id="a quick first one is alone"),
        pytest.param({A: 9.0, B: 0.1}, B, [(A, 0.0), (B, 0.25)], id="the next after 250 ms"),
        pytest.param({A: -0.01, B: 0.1}, B, [(A, 0.0), (B, 0.01)], id="the next after a failure"),
        pytest.param({A: 0.3, B: 0.1}, A, [(A, 0.0), (B, 0.25)], id="the first may still be first"),
        pytest.param({A: -0.01, B: -0.01, SIX: 0.1}, SIX, [(A, 0.0), (SIX, 0.01)], id="families by turns"),
        pytest.param(
            {A: 9.0, B: 9.0, SIX: 9.0, SEVEN: 0.1},
            SEVEN,
            [(A, 0.0), (SIX, 0.25), (B, 0.5), (SEVEN, 0.75)],
            id="all of them",
        ),
    ],
)
def test_which_connection_is_taken(
    seconds: dict[str, float], taken: str, tried: list[tuple[str, float]]
) -> None:
    network = Network(seconds)
    assert connect(network) == taken
    assert network.tried == tried


def test_the_error_of_the_last_attempt_is_told_when_none_connects() -> None:
    with pytest.raises(ConnectionRefusedError, match=B):
        connect(Network({A: -0.1, B: -0.2}))


def test_attempts_that_are_not_needed_any_more_are_given_up() -> None:
    network = Network({A: 9.0, B: 0.1})
    connect(network)
    assert network.cancelled == [A]


def test_two_that_connect_at_once_leave_one_open() -> None:
    connect(Network({A: 0.5, B: 0.25}))


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ([], []),
        ([A, B], [A, B]),
        ([SIX, SEVEN, A, B], [SIX, A, SEVEN, B]),
        ([A, SIX, SEVEN], [A, SIX, SEVEN]),
        ([A, A, SIX, A], [A, SIX]),
    ],
)
def test_families_alternate_in_the_order_of_the_resolver(given: list[str], order: list[str]) -> None:
    assert [str(each) for each in alternating([ip_address(each) for each in given])] == order
