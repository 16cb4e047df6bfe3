"""The clients behind a client, and the transports by which they reach out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from psych_runtime_core.ports.model import ModelClient

if TYPE_CHECKING:
    from psych_runtime.egress.transport import HttpTransport


@runtime_checkable
class AsksOthers(Protocol):
    """What a client has that stands in front of others."""

    @property
    def clients(self) -> Sequence[ModelClient]:
        """Those it asks."""
        ...


def transports_of(client: ModelClient) -> Iterator[HttpTransport]:
    """The transport of each client that has one."""
    if isinstance(client, AsksOthers):
        for other in client.clients:
            yield from transports_of(other)
    transport: HttpTransport | None = getattr(client, "transport", None)
    if transport is not None:
        yield transport


def the_transport(given: HttpTransport | None, client: ModelClient) -> HttpTransport | None:
    """The one way out: `given`, else the one that the clients share, else None.

    Raises `ValueError` where a client goes out by another way than `given`.
    """
    theirs = list({id(one): one for one in transports_of(client)}.values())
    if given is None:
        return theirs[0] if len(theirs) == 1 else None
    if any(one is not given for one in theirs):
        raise ValueError(
            "the model's client has a transport of its own, and there is one way out: give the client"
            " transport= the same HttpTransport, or leave it out of the Runtime"
        )
    return given
