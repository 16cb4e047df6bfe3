"""More requests than a pool has connections: they wait their turn, and waiting is no failure."""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from packages.runtime.tests.client_scenes import ANSWERS, heard, streamed, text_of
from packages.runtime.tests.egress_scenes import ASKED, Policy, bound, secret
from packages.runtime.tests.http_scenes import Calls, context_in, http_tool, runtime_of
from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.limits import HttpTimeouts
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime.secrets.masks import NO_MASKS
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime.tools.failures import CallFailed, told_failure_of
from psych_runtime_core.errors import AccessDenied, RequestFailed
from psych_runtime_core.ports.secrets import ResolvedCredential

SOON = 0.05


@pytest.fixture
def stub(stub: HttpStub) -> HttpStub:
    stub.on("GET", "/", Reply(body=b"here"))
    return stub


@asynccontextmanager
async def held(transport: HttpTransport, stub: HttpStub, **given: Any) -> AsyncGenerator[None]:
    """One connection in use."""
    async with transport.stream("GET", stub.url, configured=(stub.url,), **given, **ASKED):
        yield


async def ask(transport: HttpTransport, stub: HttpStub, path: str = "/", **given: Any) -> bytes:
    options: dict[str, Any] = {**ASKED, "configured": (stub.url,), **given}
    # A turn that is lost fails here, in place of waiting for ever.
    with anyio.fail_after(10):
        return (await transport.request("GET", stub.url + path, **options)).content


async def test_a_request_waits_as_long_as_all_connections_are_in_use(
    stub: HttpStub, caplog: pytest.LogCaptureFixture
) -> None:
    transport = HttpTransport(connections=1)
    assert HttpTimeouts().pool is None
    async with anyio.create_task_group() as group:
        with caplog.at_level(logging.WARNING, "psych_runtime.egress"):
            async with held(transport, stub):
                for _ in range(3):
                    group.start_soon(ask, transport, stub)
                await anyio.wait_all_tasks_blocked()
                assert len(stub.requests) == 1
    assert len(stub.requests) == 4
    assert stub.connections <= 2
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "all 1 connections" in told[0]
    assert "raise connections= of HttpTransport" in told[0]


async def test_a_pool_that_was_waited_for_can_be_closed_for_another(stub: HttpStub) -> None:
    transport = HttpTransport(connections=1, max_pools=1)
    async with anyio.create_task_group() as group, held(transport, stub):
        group.start_soon(ask, transport, stub)
        await anyio.wait_all_tasks_blocked()
    connections = [stub.requests[-1].connection]
    for purpose in ("tool", "mcp", "tool"):
        await ask(transport, stub, purpose=purpose)
        connections.append(stub.requests[-1].connection)
    assert connections == [2, 2, 3, 4]


async def test_who_asked_first_has_the_first_turn(stub: HttpStub) -> None:
    transport = HttpTransport(connections=1)
    for number in range(5):
        stub.on("GET", f"/{number}", Reply())
    async with anyio.create_task_group() as group, held(transport, stub):
        for number in range(5):
            group.start_soon(ask, transport, stub, f"/{number}")
            await anyio.wait_all_tasks_blocked()
    assert [seen.path for seen in stub.requests[1:]] == [f"/{number}" for number in range(5)]


@pytest.mark.parametrize(("limit", "phase"), [("pool", "connect"), ("total", "total")])
async def test_a_wait_that_is_bounded_names_the_setting_and_sent_nothing(
    limit: str, phase: str, stub: HttpStub
) -> None:
    transport = HttpTransport(connections=1)
    async with held(transport, stub):
        with pytest.raises(RequestFailed) as failed:
            await ask(transport, stub, timeouts=HttpTimeouts(**{limit: SOON}))
    error = failed.value
    assert (error.phase, error.sent, error.timed_out) == (phase, False, True)
    assert error.detail == (
        "no connection was free within 0.05 s, for all 1 of its pool were in use; "
        "raise connections= of HttpTransport"
    )
    assert await ask(transport, stub) == b"here"
    assert len(stub.requests) == 2


async def test_the_whole_is_bounded_by_its_own_words_once_it_has_its_turn(stub: HttpStub) -> None:
    transport = HttpTransport(connections=1)
    await ask(transport, stub)
    stub.hang()
    with pytest.raises(RequestFailed, match=r"not done within 0\.05 s"):
        await ask(transport, stub, timeouts=HttpTimeouts(total=SOON))


async def test_who_gives_up_leaves_the_turn_to_the_next(stub: HttpStub) -> None:
    transport = HttpTransport(connections=1)
    async with anyio.create_task_group() as group, held(transport, stub):
        with anyio.move_on_after(SOON) as left:
            await ask(transport, stub)
        assert left.cancelled_caught
        group.start_soon(ask, transport, stub)
        await anyio.wait_all_tasks_blocked()
    assert len(stub.requests) == 2


@pytest.mark.parametrize("seed", range(5))
async def test_no_turn_is_lost_or_made_whoever_leaves_and_when(seed: int, stub: HttpStub) -> None:
    dice, transport, using = random.Random(seed), HttpTransport(connections=3), [0]

    async def use(leaves_after: int | None, stays: int) -> None:
        with anyio.CancelScope() as scope:
            if leaves_after is not None:
                group.start_soon(steps, leaves_after, scope.cancel)
            async with held(transport, stub):
                using.append(using[-1] + 1)
                try:
                    await steps(stays)
                finally:
                    using.append(using[-1] - 1)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(use, dice.choice([None, dice.randrange(60)]), dice.randrange(5))
        async with held(transport, stub), held(transport, stub), held(transport, stub):
            with pytest.raises(RequestFailed, match="no connection was free"):
                await ask(transport, stub, timeouts=HttpTimeouts(pool=SOON))
    assert max(using) <= 3


async def steps(number: int, then: Callable[[], None] | None = None) -> None:
    """So many turns of the others, and then something."""
    for _ in range(number):
        await anyio.lowlevel.checkpoint()
    if then is not None:
        then()


async def test_the_turns_of_another_pool_are_its_own(stub: HttpStub) -> None:
    transport = HttpTransport(connections=1)
    async with held(transport, stub):
        assert await ask(transport, stub, purpose="mcp") == b"here"


# --- after a wait ----------------------------------------------------------------------------------------


class Rotated:
    """A credential that is another one each time it is asked for, under the same identity or not."""

    def __init__(self, *identities: str) -> None:
        self._identities = list(identities)
        self.asked = 0

    async def __call__(self) -> ResolvedCredential:
        self.asked += 1
        return secret(f"secret-{self.asked}", self._identities[min(self.asked, len(self._identities)) - 1])


@pytest.mark.parametrize(
    "identities",
    [
        pytest.param(("one",), id="a refreshed one"),
        pytest.param(("one", "one", "two"), id="a rotated one, with a pool of its own"),
    ],
)
async def test_a_secret_is_looked_up_anew(identities: tuple[str, ...], stub: HttpStub) -> None:
    transport, resolve = HttpTransport(connections=1), Rotated(*identities)
    given: dict[str, Any] = {"credential": CredentialBinding(stub.url, resolve)}
    async with anyio.create_task_group() as group, held(transport, stub, **given):
        group.start_soon(lambda: ask(transport, stub, **given))
        await anyio.wait_all_tasks_blocked()
        assert resolve.asked == 2
    sent = [seen.headers["authorization"] for seen in stub.requests]
    assert sent == ["Bearer secret-1", "Bearer secret-3"]
    with anyio.fail_after(5):
        for identity in ("one", "two"):
            assert await ask(transport, stub, credential=bound(stub.url, identity=identity)) == b"here"


async def test_a_policy_that_changed_its_mind_meanwhile_is_obeyed(stub: HttpStub) -> None:
    policy = Policy()
    transport = HttpTransport(policy=policy, connections=1)

    async def denied() -> None:
        with pytest.raises(AccessDenied, match="not today"):
            await ask(transport, stub)

    async with anyio.create_task_group() as group, held(transport, stub):
        group.start_soon(denied)
        await anyio.wait_all_tasks_blocked()
        policy.hops = False
    policy.hops = True
    assert await ask(transport, stub) == b"here"
    assert len(stub.requests) == 2


# --- of whom it is told ----------------------------------------------------------------------------------


async def test_more_streams_of_a_model_than_there_are_connections_are_all_answered(stub: HttpStub) -> None:
    stub.on("POST", ANSWERS, streamed())
    transport = HttpTransport(connections=2)
    client = OpenAICompatibleClient(base_url=f"{stub.url}/v1", transport=transport)
    answers: list[str] = []

    async def listen() -> None:
        answers.append(text_of(await heard(client)))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(listen)
    assert answers == ["Hello"] * 20
    assert stub.connections <= 2


async def test_an_http_tool_that_never_had_its_turn_timed_out_and_sent_nothing(stub: HttpStub) -> None:
    transport = HttpTransport(policy=AllowAllEgress(), connections=1)
    context = context_in(runtime_of(transport))
    calls = Calls(http_tool(stub, "/", "POST", timeout_seconds=SOON), context)
    async with context.http.stream("GET", stub.url):
        error = await calls.error()
    failure = told_failure_of(error, NO_MASKS)
    assert type(error) is CallFailed
    assert (failure.kind, failure.transient) == ("timeout", True)
    assert "HttpTransport" not in failure.message
    assert "raise connections= of HttpTransport" in (failure.traceback or "")
    assert len(stub.requests) == 1
