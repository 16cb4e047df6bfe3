"""TCP connections without a transport of the event loop: one whose loop is gone is let go in silence."""

from __future__ import annotations

import os
import socket
from ipaddress import IPv6Address

import anyio
import anyio.abc
import anyio.lowlevel

from psych_runtime_core.ports.egress import IPAddress


async def dial(address: IPAddress, port: int) -> anyio.abc.ByteStream:
    """A connection to exactly this address; `OSError` when there is none to be had."""
    family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        await _connect(made, (str(address), port))
    except BaseException:
        made.close()
        raise
    return SocketStream(made)


async def _connect(made: socket.socket, place: tuple[str, int]) -> None:
    try:
        made.connect(place)
    except BlockingIOError:
        await anyio.wait_writable(made)
        error = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error)) from None


class SocketStream(anyio.abc.ByteStream):
    """The bytes of one connection. A transport of asyncio warns when it outlives its loop; this closes."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """The next bytes. `anyio.EndOfStream` at the end, `OSError` when the connection is broken."""
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                data = self._socket.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        """Send all of it."""
        await anyio.lowlevel.checkpoint()
        left = memoryview(item)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    async def send_eof(self) -> None:
        """End our half."""
        self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Close at once; whoever waits for bytes is woken."""
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()

    def readable(self) -> bool:
        """Whether there is something to read, or the other side is gone. Waits for nothing."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def __del__(self) -> None:
        self._socket.close()
