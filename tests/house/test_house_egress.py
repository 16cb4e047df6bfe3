"""One way out of the process: nothing but the egress seam speaks to the network."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.checkout import modules, tree
from tests.house.test_house_imports import python

RUNTIME = Path("packages/runtime/src/psych_runtime")
SEAM = RUNTIME / "egress"

CLIENTS = {
    "httpx2",
    "httpcore2",
    "httpx",
    "httpcore",
    "aiohttp",
    "requests",
    "urllib3",
    "websockets",
    "pycurl",
}
STANDARD = {"urllib.request", "http.client", "xmlrpc.client", "ftplib", "smtplib", "socket", "_socket"}
DIALLING = {
    *("open_connection", "open_unix_connection", "create_connection", "create_unix_connection"),
    *("create_datagram_endpoint", "sock_connect", "connect_tcp", "connect_unix"),
    *("create_udp_socket", "create_connected_udp_socket", "create_unix_datagram_socket"),
}
MAKING = {
    *("AsyncClient", "Client", "AsyncHTTPTransport", "HTTPTransport"),
    *("AsyncConnectionPool", "ConnectionPool", "AsyncHTTPConnection", "HTTPConnection"),
    *("AsyncHTTPProxy", "HTTPProxy", "AsyncSOCKSProxy", "SOCKSProxy"),
}

# What is used outside the seam, and why nothing leaves by it. Types alone need no line.
OUTSIDE = {
    (RUNTIME / "failures/classify.py", "socket"): "names the error of a failed look-up",
    (RUNTIME / "testing/http_wire.py", "socket"): "a server of tests: it only listens, on loopback",
    (
        RUNTIME / "testing/sigkill_fork.py",
        "socket",
    ): "a test's child process and its parent, over a Unix socket",
    (RUNTIME / "worker/worker.py", "socket"): "the name of this machine",
}
# Where clients and pools are made.
MAKERS = {
    (SEAM / "pool_settings.py", "AsyncConnectionPool"): "the connections below every client",
    (SEAM / "pool_settings.py", "AsyncHTTPProxy"): "the same, by way of a proxy",
    (SEAM / "transport.py", "AsyncClient"): "a client for one caller, over the seam",
}


def walked() -> Iterator[Path]:
    """Every module that is shipped."""
    for path in modules():
        if "src" in path.parts[:3] and path.parts[0] in {"packages", "tests-contract"}:
            yield path


def running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below one, less what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from (other, *running(other))
            continue
        yield from (child, *running(child))


def imports(node: ast.AST) -> list[str]:
    """What an import statement, or a call that imports, brings in."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return [module, *(f"{module}.{alias.name}" for alias in names)]
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if called(func) in {
            "import_module",
            "__import__",
        }:
            return [name]
        case _:
            return []


def called(func: ast.AST) -> str:
    """The last word of what is called."""
    match func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def reach(module: ast.AST) -> set[str]:
    """The network libraries that a module loads, and what it dials with."""
    found: set[str] = set()
    for node in running(module):
        for name in imports(node):
            found |= {each for each in CLIENTS | STANDARD if f"{name}.".startswith(f"{each}.")}
        if isinstance(node, ast.Call):
            found |= {called(node.func)} & DIALLING
    return found


def made(module: ast.AST) -> set[str]:
    """The clients, pools and connections that a module makes."""
    return {called(node.func) for node in running(module) if isinstance(node, ast.Call)} & MAKING


def found_outside() -> set[tuple[Path, str]]:
    return {(path, what) for path in walked() if not path.is_relative_to(SEAM) for what in reach(tree(path))}


def found_makers() -> set[tuple[Path, str]]:
    return {(path, what) for path in walked() for what in made(tree(path))}


def test_the_walk_sees_the_seam_and_every_package() -> None:
    roots = {path.parts[:2] for path in walked()}
    assert {("packages", name) for name in ("core", "memory", "runtime", "sql", "sqlite")} <= roots
    assert ("tests-contract", "src") in roots
    assert any("httpcore2" in reach(tree(path)) for path in walked() if path.is_relative_to(SEAM))


def test_only_the_seam_speaks_to_the_network() -> None:
    assert found_outside() - set(OUTSIDE) == set()


def test_only_the_transport_makes_clients_and_pools() -> None:
    assert found_makers() - set(MAKERS) == set()


def test_no_exception_is_listed_that_is_none() -> None:
    assert set(OUTSIDE) - found_outside() == set()
    assert set(MAKERS) - found_makers() == set()


def test_a_policy_is_made_without_loading_a_client() -> None:
    program = (
        "import sys; from psych_runtime.egress.policy import PublicOnly; PublicOnly(); print(*sys.modules)"
    )
    loaded = {name.partition(".")[0] for name in python(program).split()}
    assert "psych_runtime" in loaded
    assert not loaded & CLIENTS


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("import httpx2", {"httpx2"}, id="a client"),
        pytest.param("import httpx2 as h", {"httpx2"}, id="a client by another name"),
        pytest.param(
            "def f():\n    from httpcore2 import AsyncConnectionPool", {"httpcore2"}, id="in a function"
        ),
        pytest.param("from httpx2._client import AsyncClient", {"httpx2"}, id="its inside"),
        pytest.param("import urllib.request", {"urllib.request"}, id="the standard library"),
        pytest.param("from urllib import request, parse", {"urllib.request"}, id="out of its package"),
        pytest.param("from http.client import HTTPConnection", {"http.client"}, id="a class of it"),
        pytest.param("import socket", {"socket"}, id="a socket"),
        pytest.param("importlib.import_module('aiohttp.client')", {"aiohttp"}, id="by its name"),
        pytest.param("__import__('requests')", {"requests"}, id="by the builtin"),
        pytest.param("await asyncio.open_connection(host, 80)", {"open_connection"}, id="a stream"),
        pytest.param("from anyio import connect_tcp\nconnect_tcp(host, 80)", {"connect_tcp"}, id="anyio's"),
        pytest.param("loop.create_connection(Protocol, host)", {"create_connection"}, id="the loop's"),
        pytest.param("if TYPE_CHECKING:\n    import httpx2", set[str](), id="types alone"),
        pytest.param(
            "if typing.TYPE_CHECKING:\n    import a\nelse:\n    import httpx2", {"httpx2"}, id="not types"
        ),
        pytest.param("import socketserver, urllib.parse, http, httpx2_like", set[str](), id="others"),
        pytest.param(
            "from http import HTTPStatus\nfrom urllib.parse import quote", set[str](), id="harmless parts"
        ),
        pytest.param("from . import socket\nfrom .requests import x", set[str](), id="a neighbour's name"),
    ],
)
def test_what_counts_as_reaching_the_network(source: str, found: set[str]) -> None:
    assert reach(ast.parse(source)) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("httpx2.AsyncClient(transport=t)", {"AsyncClient"}, id="a client"),
        pytest.param(
            "def f():\n    return httpcore2.AsyncConnectionPool()", {"AsyncConnectionPool"}, id="a pool"
        ),
        pytest.param("def f(client: httpx2.AsyncClient) -> None: ...", set[str](), id="a type"),
        pytest.param("class Ours(httpx2.AsyncBaseTransport): ...", set[str](), id="a transport of our own"),
    ],
)
def test_what_counts_as_making_a_client(source: str, found: set[str]) -> None:
    assert made(ast.parse(source)) == found
