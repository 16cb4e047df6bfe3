"""One client, many tenants: nothing of one is ever seen with another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from packages.runtime.tests.client_scenes import (
    ANSWERS,
    Vault,
    asked,
    context,
    failing,
    heard,
    serving,
    streamed,
    text_of,
)
from psych_runtime.testing.http_stub import HttpStub, Reply, SeenRequest
from psych_runtime_core.errors import AccessDenied, CredentialNotFound, ModelErrorKind
from psych_runtime_core.ports.model import ModelCallContext
from psych_runtime_core.ports.secrets import ResolvedCredential
from psych_runtime_core.scope import Scope


def keys_sent(stub: HttpStub) -> list[str]:
    return [seen.headers["authorization"] for seen in stub.requests]


async def test_two_tenants_in_parallel_send_their_own_keys_and_headers_over_connections_of_their_own() -> (
    None
):
    vault = Vault(acme="sk-acme", globex="sk-globex")

    def headers(where: ModelCallContext) -> Mapping[str, str]:
        return {"X-Tenant": where.scope.tenant, "Authorization": "Bearer mine"}

    def reply(seen: SeenRequest) -> Reply:
        cookie = {"set-cookie": f"who={seen.headers['x-tenant']}"}
        answer = streamed()
        return Reply(headers={**answer.headers, **cookie}, chunks=answer.chunks)

    async with serving(reply, credential="main", secrets=vault, headers=headers) as (stub, client):
        for _ in range(3):
            async with anyio.create_task_group() as tasks:
                for tenant in ("acme", "globex") * 4:
                    tasks.start_soon(heard, client, asked(f"I am {tenant}"), context(tenant))
        connections: dict[str, set[int]] = {"acme": set(), "globex": set()}
        for seen in stub.requests:
            tenant = seen.headers["x-tenant"]
            assert seen.headers["authorization"] == f"Bearer sk-{tenant}"
            assert seen.json["messages"][0]["content"] == f"I am {tenant}"
            assert "cookie" not in seen.headers
            connections[tenant].add(seen.connection)
        assert len(stub.requests) == 24
        assert not connections["acme"] & connections["globex"]
        assert set(vault.asked) == {("acme", "main"), ("globex", "main")}


async def test_a_key_that_was_rotated_is_used_at_once() -> None:
    vault = Vault(acme="sk-1")
    async with serving(credential="main", secrets=vault) as (stub, client):
        await heard(client)
        vault.keys["acme"] = "sk-2"
        await heard(client)
        assert keys_sent(stub) == ["Bearer sk-1", "Bearer sk-2"]


async def test_a_tenant_without_a_key_is_told_so_and_nothing_is_sent() -> None:
    async with serving(credential="main", secrets=Vault(acme="sk-1")) as (stub, client):
        with pytest.raises(CredentialNotFound, match="'main' is not set"):
            await heard(client, where=context("globex"))
        assert not stub.requests


async def test_a_client_bound_to_a_tenant_refuses_another_before_anything_is_sent() -> None:
    vault = Vault(acme="sk-1", globex="sk-2")
    pinned = Scope(tenant="acme", principal="ops")
    async with serving(credential="main", secrets=vault, scope=pinned) as (stub, client):
        with pytest.raises(AccessDenied) as refused:
            await heard(client, where=context("globex"))
        assert (stub.requests, vault.asked) == ((), [])
        assert "acme" not in str(refused.value)
        assert text_of(await heard(client)) == "Hello"


@pytest.mark.parametrize(
    ("options", "header", "value"),
    [
        pytest.param({}, "authorization", "Bearer sk-1", id="as usual"),
        pytest.param({"dialect": "azure"}, "api-key", "sk-1", id="as the dialect has it"),
        pytest.param({"auth_header": "X-Key", "auth_scheme": ""}, "x-key", "sk-1", id="as stated"),
        pytest.param({"auth_header": "X-Key"}, "x-key", "Bearer sk-1", id="a header alone"),
        pytest.param({"auth_scheme": "Token"}, "authorization", "Token sk-1", id="a scheme alone"),
        pytest.param(
            {"dialect": "azure", "auth_header": "Authorization", "auth_scheme": "Bearer"},
            "authorization",
            "Bearer sk-1",
            id="as stated, though it is usual elsewhere",
        ),
        pytest.param(
            {"dialect": "azure", "auth_scheme": "Bearer"}, "authorization", "Bearer sk-1", id="over a dialect"
        ),
        pytest.param(
            {"headers": {"Authorization": "Bearer other"}}, "authorization", "Bearer sk-1", id="over a header"
        ),
    ],
)
async def test_the_key_is_sent_where_it_belongs(options: dict[str, Any], header: str, value: str) -> None:
    async with serving(api_key="sk-1", **options) as (stub, client):
        await heard(client)
        seen = stub.requests[0].headers
        assert {name: told for name, told in seen.items() if "sk-1" in told} == {header: value}


async def test_the_headers_of_a_trace_go_along_under_those_of_the_client() -> None:
    trace = {"traceparent": "00-1-2-01", "x-who": "trace"}
    async with serving(headers={"X-Who": "client", "ACCEPT": "anything"}) as (stub, client):
        await heard(client, where=context(headers=trace))
        seen = stub.requests[0].headers
        assert (seen["traceparent"], seen["x-who"]) == ("00-1-2-01", "client")
        assert seen["accept"] == "text/event-stream"


@pytest.mark.parametrize("stored", ["sk-12345\n", " sk-12345\r\n", "\tsk-12345"])
@pytest.mark.parametrize("named", [True, False], ids=["a name", "a fixed key"])
async def test_blanks_around_a_key_are_no_part_of_it(stored: str, named: bool) -> None:
    given: dict[str, Any] = (
        {"credential": "main", "secrets": Vault(acme=stored)} if named else {"api_key": stored}
    )
    async with serving(**given) as (stub, client):
        stub.on("POST", ANSWERS, Reply(status=401, json={"error": {"message": "bad key sk-12345."}}))
        _, error = await failing(client)
        assert stub.requests[0].headers["authorization"] == "Bearer sk-12345"
    assert error.message.startswith("bad key ***. ")


class Closed(Vault):
    """A vault that fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        raise self.error


@pytest.mark.parametrize(
    ("vault", "kind"),
    [
        pytest.param(
            Closed(ConnectionError("away: sk-1")), ModelErrorKind.TRANSIENT, id="a vault that is away"
        ),
        pytest.param(Closed(KeyError("sk-1")), ModelErrorKind.PERMANENT, id="a vault that is broken"),
        pytest.param(Vault(acme="sk-1\nsk-2"), ModelErrorKind.AUTH, id="a key of two lines"),
    ],
)
async def test_a_key_that_cannot_be_had_is_an_error_of_the_call(vault: Vault, kind: ModelErrorKind) -> None:
    async with serving(credential="main", secrets=vault) as (stub, client):
        _, error = await failing(client)
        assert not stub.requests
    assert error.kind is kind
    assert "sk-1" not in error.message


async def test_a_header_that_would_become_two_is_an_error_of_the_call() -> None:
    def headers(where: ModelCallContext) -> Mapping[str, str]:
        return {"x-a": f"{where.lane}\r\nx-b: 2"}

    async with serving(headers=headers) as (stub, client):
        _, error = await failing(client)
        assert not stub.requests
    assert (error.kind, "x-a" in error.message) == (ModelErrorKind.PERMANENT, True)


# --- loops ---------------------------------------------------------------------------------------------

TWO_LOOPS = """
import asyncio, gc, threading
from contextlib import aclosing
from packages.runtime.tests.client_scenes import ANSWERS, asked, context, heard, streamed, text_of
from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.testing.http_stub import HttpStub

ready, over, urls = threading.Event(), threading.Event(), []

async def serve() -> None:
    async with HttpStub() as stub:
        stub.on("POST", ANSWERS, streamed())
        urls.append(stub.url)
        ready.set()
        await asyncio.to_thread(over.wait)
        assert stub.connections == 2, stub.connections

async def talk(client: OpenAICompatibleClient) -> None:
    for _ in range(2):
        assert text_of(await heard(client)) == "Hello"
    async with aclosing(client.stream(asked(), context())) as left:
        await anext(left)

server = threading.Thread(target=asyncio.run, args=(serve(),))
server.start()
ready.wait()
client = OpenAICompatibleClient(base_url=f"{urls[0]}/v1", api_key="sk-1")
for _ in range(2):
    asyncio.run(talk(client))
over.set()
server.join()
del client
gc.collect()
print("heard twice")
"""


def test_one_client_serves_two_event_loops_one_after_the_other_in_silence() -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", TWO_LOOPS]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    # In development mode the loop says how long an import took, which is no warning of the client's.
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.stdout, complaints, done.returncode) == ("heard twice\n", [], 0)
