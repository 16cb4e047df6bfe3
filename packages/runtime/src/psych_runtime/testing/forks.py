"""Processes that are forked off one that has everything loaded, and heard over a socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Fork:
    """A process of its own; `exit_code` is negative where a signal ended it."""

    pid: int
    exit_code: asyncio.Future[int]
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    async def messages(self) -> AsyncIterator[Message]:
        """What it says, until it ends or is left to itself."""
        while line := await self._reader.readline():
            yield json.loads(line)

    async def kill(self) -> int:
        """Send it SIGKILL, and wait for its end."""
        os.kill(self.pid, signal.SIGKILL)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for its end; the exit code."""
        code = await self.exit_code
        self._writer.close()
        return code


class Forks:
    """Starts forks of one template process. A fork connects to `socket` and names its pid first."""

    def __init__(self, template: asyncio.subprocess.Process, socket: Path) -> None:
        self.socket, self._template = socket, template
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._connected: dict[int, asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = {}
        self._started: asyncio.Queue[int] = asyncio.Queue()
        self._one_at_a_time = asyncio.Lock()

    async def start(self, orders: Message) -> Fork:
        """A process that carries out `orders`."""
        stdin = self._template.stdin
        assert stdin is not None, "the template reads its orders from a pipe"
        async with self._one_at_a_time:
            stdin.write(json.dumps({**orders, "socket": str(self.socket)}).encode() + b"\n")
            pid = await self._started.get()
        reader, writer = await self._connection(pid)
        return Fork(pid, self._exit(pid), reader, writer)

    async def listen(self) -> None:
        """Hear from the template which forks it made, and how they ended."""
        stdout = self._template.stdout
        assert stdout is not None, "the template says what it does into a pipe"
        while line := await stdout.readline():
            said = json.loads(line)
            if "code" in said:
                self._exit(said["pid"]).set_result(said["code"])
            else:
                self._started.put_nowait(said["pid"])

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A fork has come."""
        pid = json.loads(await reader.readline())["pid"]
        self._connection(pid).set_result((reader, writer))

    def _exit(self, pid: int) -> asyncio.Future[int]:
        return self._exits.setdefault(pid, asyncio.get_running_loop().create_future())

    def _connection(self, pid: int) -> asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        return self._connected.setdefault(pid, asyncio.get_running_loop().create_future())


@asynccontextmanager
async def forks_of(module: str, *arguments: str, folder: Path) -> AsyncGenerator[Forks]:
    """Forks of a process that runs `module`, with a socket in `folder`; it and they end with the block."""
    template = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    forks = Forks(template, folder / "socket")
    server = await asyncio.start_unix_server(forks.connected, forks.socket)
    listening = asyncio.create_task(forks.listen())
    try:
        yield forks
    finally:
        server.close()
        assert template.stdin is not None, "it was opened as a pipe"
        template.stdin.close()
        await template.wait()
        await listening
