"""A connection as the HTTP layer sees it: it knows the hop that writes on it, and where it leads."""

from __future__ import annotations

import math
import os
import re
import ssl
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import anyio.abc
import httpcore2
from anyio.streams.tls import TLSAttribute, TLSStream

from psych_runtime.egress.hop import Hop, hop_of_this_task
from psych_runtime.egress.sockets import SocketStream

MAX_HEAD_BYTES = 128 * 1024
"""Of the head of a reply and what comes before it: there is room for the largest one, and for many hints."""

# What goes before a head is read without a break, so little of it is taken at once.
_HEAD_READ = 16 * 1024
_REASON = re.compile(r"[A-Z0-9_ ]+")


class Unusable(OSError):
    """A connection is of no use, for a reason in words of ours."""


@contextmanager
def faults(timeout: type[Exception], broken: type[Exception]) -> Generator[None]:
    """Names a wait that ran out, and a connection that is broken, as the HTTP layer does."""
    try:
        yield
    except TimeoutError:
        raise timeout from None
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream) as error:
        raise broken(_words(error)) from None


def _words(error: BaseException) -> str:
    """What is wrong, by its kind alone, also where anyio wrapped it in an error without words."""
    match error if isinstance(error, OSError) else error.__cause__:
        case Unusable() as told:
            return str(told)
        case ssl.SSLCertVerificationError() as told:
            # What comes after the comma names the host.
            return f"certificate verify failed: {told.verify_message.partition(', ')[0]}"
        case ssl.SSLError() as told:
            reason = told.reason or ""
            return f"TLS failed: {reason}" if _REASON.fullmatch(reason) else "TLS failed"
        case OSError(errno=int(number)) if number > 0:
            return os.strerror(number)
        case _:
            return "the connection was closed"


class Wire(httpcore2.AsyncNetworkStream):
    """Bytes to and from one address."""

    def __init__(self, stream: anyio.abc.ByteStream, address: str) -> None:
        self._stream, self._address = stream, address
        self._hop: Hop | None = None
        self._head_bytes, self._head_deadline = 0, math.inf
        self._spoilt = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes, b"" at the end.

        A head has one `timeout` for all of it: replies that only announce another do not begin it anew.
        """
        heading = self._hop is not None and self._hop.status is None
        with faults(httpcore2.ReadTimeout, httpcore2.ReadError):
            if heading:
                return await self._read_of_head(min(max_bytes, _HEAD_READ), timeout)
            with anyio.fail_after(timeout):
                return await self._received(max_bytes)

    async def _read_of_head(self, max_bytes: int, timeout: float | None) -> bytes:
        if self._head_bytes > MAX_HEAD_BYTES:
            raise Unusable(f"the head of the reply, and what came before it, has over {MAX_HEAD_BYTES} bytes")
        now = anyio.current_time()
        if timeout is not None:
            self._head_deadline = min(self._head_deadline, now + timeout)
        with anyio.fail_after(self._head_deadline - now):
            data = await self._received(max_bytes)
        self._head_bytes += len(data)
        return data

    async def _received(self, max_bytes: int) -> bytes:
        try:
            return await self._stream.receive(max_bytes)
        except anyio.EndOfStream:
            return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it, and let the hop of this task know that it is under way."""
        if not buffer:
            return
        self._hop = hop = hop_of_this_task.get()
        self._head_bytes, self._head_deadline = 0, math.inf
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
                self._spoilt = self._spoilt or _holds_more(stream)
                stream = stream.transport_stream
            return self._spoilt or not isinstance(stream, SocketStream) or stream.readable()
        return None


def _holds_more(stream: TLSStream) -> bool:
    """Whether there is more in what was already read off the socket. It is taken out to see."""
    try:
        stream.extra(TLSAttribute.ssl_object).read(1)
    except ssl.SSLWantReadError:
        return False
    except (ssl.SSLError, OSError):
        return True
    return True
