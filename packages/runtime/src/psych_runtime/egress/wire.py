"""A connection as the HTTP layer sees it: it knows the hop that writes on it, and where it leads."""

from __future__ import annotations

import ssl
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import anyio.abc
import httpcore2
from anyio.streams.tls import TLSAttribute, TLSStream

from psych_runtime.egress.hop import hop_of_this_task
from psych_runtime.egress.sockets import SocketStream


@contextmanager
def faults(timeout: type[Exception], broken: type[Exception]) -> Generator[None]:
    """Names a wait that ran out, and a connection that is broken, as the HTTP layer does."""
    try:
        yield
    except TimeoutError as error:
        raise timeout(str(error)) from error
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream) as error:
        raise broken(_words(error)) from error


def _words(error: BaseException) -> str:
    """What is wrong, also where anyio wrapped it in an error without words."""
    told = error if str(error) or error.__cause__ is None else error.__cause__
    return getattr(told, "strerror", None) or str(told) or "the connection was closed"


class Wire(httpcore2.AsyncNetworkStream):
    """Bytes to and from one address."""

    def __init__(self, stream: anyio.abc.ByteStream, address: str) -> None:
        self._stream, self._address = stream, address

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes, b"" at the end."""
        with faults(httpcore2.ReadTimeout, httpcore2.ReadError), anyio.fail_after(timeout):
            try:
                return await self._stream.receive(max_bytes)
            except anyio.EndOfStream:
                return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it, and let the hop of this task know that it is under way."""
        if not buffer:
            return
        hop = hop_of_this_task.get()
        hop.address = self._address
        # Before its handshake an https hop only ever writes to a proxy, asking it for the way.
        hop.sent = hop.sent or hop.asked.scheme == "http" or isinstance(self._stream, TLSStream)
        with faults(httpcore2.WriteTimeout, httpcore2.WriteError), anyio.fail_after(timeout):
            await self._stream.send(buffer)

    async def aclose(self) -> None:
        """Close at once, without a closing handshake."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """The same connection, encrypted from here on."""
        try:
            with faults(httpcore2.ConnectTimeout, httpcore2.ConnectError), anyio.fail_after(timeout):
                encrypted = await TLSStream.wrap(
                    self._stream,
                    server_side=False,
                    hostname=server_hostname,
                    ssl_context=ssl_context,
                    standard_compatible=False,
                )
        except BaseException:
            await anyio.aclose_forcefully(self._stream)
            raise
        return Wire(encrypted, self._address)

    def get_extra_info(self, info: str) -> object:
        """Only what the HTTP layer asks of an idle connection, and of an encrypted one."""
        if info == "ssl_object":
            return self._stream.extra(TLSAttribute.ssl_object, None)
        if info == "is_readable":
            stream: anyio.abc.AnyByteStream = self._stream
            while isinstance(stream, TLSStream):
                stream = stream.transport_stream
            return not isinstance(stream, SocketStream) or stream.readable()
        return None
