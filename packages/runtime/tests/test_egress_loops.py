"""One transport on several event loops: what is left of a dead one is let go without a word."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import asyncio, gc, logging, socket, threading
from psych_runtime.egress.transport import HttpTransport
from psych_runtime_core.scope import Scope

SCOPE = Scope(tenant="acme")
# How long a step took is no matter here.
logging.getLogger("asyncio").setLevel(logging.ERROR)

class Server:
    "Answers on a thread of its own, and counts connections and how many of them the client ended."
    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/"
        self.opened, self.ended = 0, threading.Semaphore(0)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listening.accept()
            self.opened += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            while (received := connection.recv(65536)):
                if b"GET /held" in received:
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 9\\r\\n\\r\\nhalf")
                else:
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 4\\r\\n\\r\\nhere")
        self.ended.release()

server = Server()

async def ask(transport):
    given = dict(scope=SCOPE, purpose="tool", configured=(server.url,))
    response = await transport.request("GET", server.url, **given)
    assert response.content == b"here"
"""


def run(program: str) -> None:
    """Run it in a process that takes every warning, also of what is collected, for an error."""
    whole = PRELUDE + textwrap.dedent(program) + "\nprint('done')\n"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", whole],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "done", "")


def test_a_transport_made_before_any_loop_works_on_two_of_them() -> None:
    run("""
        transport = HttpTransport()
        asyncio.run(ask(transport))
        asyncio.run(ask(transport))
        assert server.opened == 2
    """)


def test_the_connections_of_a_dead_loop_are_closed() -> None:
    run("""
        transport = HttpTransport()
        asyncio.run(ask(transport))
        gc.collect()
        assert server.ended.acquire(timeout=5)
    """)


def test_a_transport_may_be_collected_on_another_loop() -> None:
    run("""
        transport = HttpTransport()
        asyncio.run(ask(transport))
        async def collect():
            global transport
            del transport
            gc.collect()
        asyncio.run(collect())
        assert server.ended.acquire(timeout=5)
    """)


def test_a_client_of_a_dead_loop_works_on_the_next() -> None:
    run("""
        client = HttpTransport().client(SCOPE, purpose="mcp", configured=(server.url,))
        async def get():
            assert (await client.get(server.url)).content == b"here"
        asyncio.run(get())
        asyncio.run(get())
    """)


@pytest.mark.parametrize("how", ["asyncio.run(hold())", "loop.run_until_complete(hold()); loop.close()"])
def test_a_stream_that_is_open_when_its_loop_ends(how: str) -> None:
    run(f"""
        transport = HttpTransport()
        kept = []
        async def hold():
            given = dict(scope=SCOPE, purpose="tool", configured=(server.url,))
            context = transport.stream("GET", server.url + "held", **given)
            kept.append(context)
            response = await context.__aenter__()
            kept.append(pieces := response.aiter_bytes())
            assert await anext(pieces) == b"half"
        loop = asyncio.new_event_loop()
        {how}
        loop.close()
        kept.clear()
        gc.collect()
        asyncio.run(ask(transport))
    """)


def test_two_threads_with_a_loop_each_share_a_transport() -> None:
    run("""
        transport = HttpTransport()
        threads = [threading.Thread(target=lambda: asyncio.run(ask(transport))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.opened == 4
    """)


def test_a_connection_nobody_needs_any_more_is_closed_with_its_loop_alive() -> None:
    run("""
        async def main():
            await ask(HttpTransport())
            gc.collect()
            assert server.ended.acquire(timeout=5)
        asyncio.run(main())
    """)
