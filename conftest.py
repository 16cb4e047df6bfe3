"""What every test of the workspace runs under: asyncio alone, no network, settled hypothesis profiles."""

import os
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# `gate` is what a change is judged by, so it is the same every time; `deep` looks for what it misses.
settings.register_profile("gate", derandomize=True, max_examples=100, deadline=None, print_blob=True)
settings.register_profile(
    "deep", max_examples=5_000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("PSYCH_TEST_PROFILE", "gate"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The one event loop there is."""
    return "asyncio"


class NetworkShut(AssertionError):
    """A test tried to leave this machine."""


@pytest.fixture(scope="session", autouse=True)
def network_shut() -> Iterator[None]:
    """Sockets reach loopback addresses and unix sockets, nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
        yield


def guarded(original: Any) -> Any:
    """`original`, refusing addresses off this machine. The address is the last argument of all three."""

    def call(self: socket.socket, *args: Any) -> Any:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not is_loopback(args[-1][0]):
            raise NetworkShut(f"a test may not reach {args[-1]!r}; use loopback")
        return original(self, *args)

    return call


def is_loopback(host: str) -> bool:
    """Whether a socket address' host is this machine. Names other than localhost would be looked up."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
