"""A server for tests: scripted replies over a real socket of this machine, and every fault of a wire."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from types import TracebackType
from typing import Self

from psych_runtime.testing.http_replies import Answer, Close, Gate, Piece, Raw, Reply, SeenRequest
from psych_runtime.testing.http_wire import Fault, HttpWire
from psych_runtime_core.clock import Clock, SystemClock

__all__ = ["Answer", "Close", "Gate", "HttpStub", "Piece", "Raw", "Reply", "SeenRequest", "UnexpectedRequest"]


class UnexpectedRequest(AssertionError):
    """Requests came that the stub has no reply for; name them with `on`."""

    def __init__(self, requests: list[SeenRequest], known: list[str]) -> None:
        self.requests = tuple(requests)
        got = ", ".join(f"{request.method} {request.target}" for request in requests)
        super().__init__(f"the stub has no reply for {got}; it knows {', '.join(known) or 'nothing'}")


class HttpStub:
    """Serves on 127.0.0.1, on a free port, while it is entered.

    `on` says what a path answers; faults are for the next reply, whichever it is. A path that nobody named
    gets a 404, and leaving the stub then raises `UnexpectedRequest`; a reply function that raises gets a 500,
    and leaving raises its error.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._routes: dict[tuple[str, str], deque[Answer]] = {}
        self._faults: deque[Fault] = deque()
        self._requests: list[SeenRequest] = []
        self._unexpected: list[SeenRequest] = []
        self._errors: list[Exception] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._news = asyncio.Event()
        self._connections = 0

    @property
    def url(self) -> str:
        """`http://127.0.0.1:<port>`."""
        if self._server is None:
            raise RuntimeError("the stub does not serve; use it in `async with`")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def requests(self) -> tuple[SeenRequest, ...]:
        """Every request that came whole, in order."""
        return tuple(self._requests)

    @property
    def connections(self) -> int:
        """How many connections were opened to it so far."""
        return self._connections

    def on(self, method: str, path: str, *replies: Answer) -> None:
        """Answer with `replies` in turn, with the last again and again. They replace earlier ones."""
        if not replies:
            raise ValueError(f"{method} {path} has no reply; give at least one")
        self._routes[method.upper(), path] = deque(replies)

    def cut_after(self, count: int) -> None:
        """The next reply ends after `count` bytes of the wire, its head included, and its connection too."""
        self._faults.append(Fault(count, "clean"))

    def hang(self, after: int = 0) -> None:
        """The next reply stops after so many bytes; its connection stays open, until the client leaves."""
        self._faults.append(Fault(after, "hold"))

    def reset(self, after: int = 0) -> None:
        """The next reply stops after so many bytes, and its connection is reset."""
        self._faults.append(Fault(after, "reset"))

    def half_close(self, after: int = 0) -> None:
        """The next reply stops after so many bytes; our side is closed, and the client's is still read."""
        self._faults.append(Fault(after, "half"))

    async def wait_for(self, count: int) -> tuple[SeenRequest, ...]:
        """The first `count` requests, once they came."""
        while len(self._requests) < count:
            await self._news.wait()
        return self.requests[:count]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None
        if error is None:
            self._complain()

    def _complain(self) -> None:
        for error in self._errors:
            raise error
        if self._unexpected:
            raise UnexpectedRequest(self._unexpected, [" ".join(route) for route in self._routes])

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        task = asyncio.ensure_future(self._serve(HttpWire(reader, writer, self._connections)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, wire: HttpWire) -> None:
        try:
            kept = True
            while kept and (request := await wire.request()) is not None:
                self._note(request)
                kept = await self._answer(wire, request)
        except Exception as error:  # such as a reply that is no HTTP
            self._errors.append(error)
        finally:
            await wire.close()

    def _note(self, request: SeenRequest) -> None:
        self._requests.append(request)
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _answer(self, wire: HttpWire, request: SeenRequest) -> bool:
        """Whether the connection takes another request."""
        fault = self._faults.popleft() if self._faults else None
        answer = self._next_answer(request)

        async def played() -> bool:
            return await wire.play(request, await self._reply(answer, request), self._clock, fault)

        kept = await wire.watched(played())
        if kept is None:
            request.left(self._clock.monotonic())
        return bool(kept)

    def _next_answer(self, request: SeenRequest) -> Answer:
        answers = self._routes.get((request.method, request.path))
        if answers is None:
            self._unexpected.append(request)
            return Reply(status=404, json={"error": f"no reply for {request.method} {request.path}"})
        return answers.popleft() if len(answers) > 1 else answers[0]

    async def _reply(self, answer: Answer, request: SeenRequest) -> Reply | Raw:
        if isinstance(answer, Reply | Raw):
            return answer
        try:
            made = answer(request)
            return await made if inspect.isawaitable(made) else made
        except Exception as error:
            self._errors.append(error)
            return Reply(status=500, json={"error": repr(error)})
