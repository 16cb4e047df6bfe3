"""Whole Runs whose model is a provider over HTTP."""

import asyncio
import json
import time
from decimal import Decimal
from threading import Thread

import pytest

from psych_runtime import (
    EgressEvent,
    HttpTransport,
    InMemoryStore,
    ModelPrice,
    OpenAICompatibleClient,
    RunId,
    Runtime,
    StaticPriceTable,
    Store,
    ToolRegistry,
    Worker,
    answer,
    dispatch,
    interrupt,
    records,
    report,
)
from psych_runtime.testing.http_stub import HttpStub
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from tests.e2e.stage import ACME, agent, at_work, begun, ended, only, registered
from tests.e2e.wire import PATH, bodies, event, failed, provider, said, silent


async def look(n: int) -> str:
    """Look something up."""
    return f"seen {n}"


async def test_a_run_with_tools_is_answered_and_priced(store: Store) -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010}
    prices = StaticPriceTable({"fake-1": ModelPrice("2.5", "10")})
    replies = (said(calls=[("look", {"n": 7})], usage=usage), said("Seen.", usage=usage))
    async with (
        provider(*replies) as (_, client),
        at_work(store, client, registered(look), runtime={"prices": prices}),
    ):
        run_id = await begun(store, agent("look"))
        await ended(store, run_id)
    assert (await answer(store, run_id)).result() == "Seen."
    cost = (await report(store, run_id)).totals.cost
    assert cost is not None
    assert (cost.amount, cost.currency, cost.source) == (Decimal("0.0052"), "USD", "computed")


@pytest.mark.parametrize(
    "stalled",
    [
        pytest.param(silent(), id="before the first byte"),
        pytest.param(silent(event(delta={"role": "assistant"})), id="before the first token"),
        pytest.param(silent(event(delta={"content": "Well"})), id="in the text"),
    ],
)
async def test_an_interrupt_closes_the_socket_at_once(store: Store, stalled: object) -> None:
    async with provider(stalled) as (stub, client), at_work(store, client):
        run_id = await begun(store, agent())
        (request,) = await stub.wait_for(1)
        asked_at = time.monotonic()
        await interrupt(store, run_id)
        await request.closed_early()
        assert time.monotonic() - asked_at < 1
        state = await ended(store, run_id)
    assert state.terminal_state == "aborted"


async def test_a_fallback_is_asked_at_once_and_by_another_name(store: Store) -> None:
    busy = failed(429, message="Slow down.", code="rate_limit_exceeded")
    spec = agent().model_copy(update={"model": {"model": "first", "fallbacks": ["second"]}})
    async with provider(busy, said("Here.")) as (stub, client):
        async with at_work(store, client):
            run_id = await begun(store, spec)
            await ended(store, run_id)
        asked = [json.loads(body)["model"] for body in bodies(stub.requests)]
    assert asked == ["first", "second"]
    (failure,) = only(ModelCallFailed, await records(store, run_id))
    assert failure.failure.message.startswith("Slow down.")
    assert failure.retry_at is None


async def test_the_key_stands_in_no_record(store: Store) -> None:
    refused = failed(401, message="Incorrect API key provided: sk-secret-key.", code="invalid_api_key")
    async with provider(refused) as (stub, client):
        async with at_work(store, client):
            run_id = await begun(store, agent())
            state = await ended(store, run_id)
        assert stub.requests[0].headers["authorization"] == "Bearer sk-secret-key"
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == "auth"
    stored = b"".join(entry.body for entry in await store.read(run_id, 0))
    assert b"sk-secret-key" not in stored
    assert b"***" in stored


async def test_the_audit_knows_whose_run_it_was(store: Store) -> None:
    told: list[EgressEvent] = []
    transport = HttpTransport(audit=told.append)
    async with provider(said("Hi."), transport=transport) as (stub, client), at_work(store, client):
        run_id = await begun(store, agent())
        await ended(store, run_id)
        assert [event.origin for event in told] == [stub.url]
    (hop,) = told
    assert (hop.tenant, hop.run_id, hop.purpose, hop.outcome) == ("acme", run_id, "model", "allowed")
    assert (hop.path, hop.status, hop.bytes_out > 0) == (PATH, 200, True)


async def test_what_a_provider_charges_is_what_is_recorded(store: Store) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": "0.00000000000000000001"}
    async with provider(said("Hi.", usage=usage)) as (_, client), at_work(store, client):
        run_id = await begun(store, agent())
        await ended(store, run_id)
    (call,) = only(ModelCallFinished, await records(store, run_id))
    assert call.cost is not None
    assert (call.cost.amount, call.cost.source) == (Decimal("1E-20"), "provider")


async def test_a_model_nobody_has_a_price_for_costs_an_unknown_sum(store: Store) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
    spec = agent().model_copy(update={"model": {"model": "gpt-4.9-turbo-x"}})
    async with provider(said("Hi.", usage=usage)) as (_, client), at_work(store, client):
        run_id = await begun(store, spec)
        await ended(store, run_id)
    (call,) = only(ModelCallFinished, await records(store, run_id))
    assert (call.cost, call.usage_reported) == (None, True)
    assert (await report(store, run_id)).totals.cost_is_incomplete


def test_two_event_loops_one_after_the_other_use_one_client_and_one_store() -> None:
    store = InMemoryStore()
    made: list[Runtime] = []

    async def asked(url: str) -> object:
        if not made:
            client = OpenAICompatibleClient(base_url=f"{url}/v1")
            made.append(Runtime(store=store, model=client, registry=ToolRegistry()))
        worker = Worker(made[0])
        running = asyncio.create_task(worker.run())
        run_id: RunId = (await dispatch(store, agent(), ACME, input="Hello.")).run_id
        await ended(store, run_id)
        worker.stop()
        await running
        return (await answer(store, run_id)).result()

    async def both() -> tuple[str, HttpStub]:
        stub = HttpStub()
        await stub.__aenter__()
        stub.on("POST", PATH, said("Hi."))
        return stub.url, stub

    # The provider is another process's in life; here its loop is a thread's.
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    url, stub = asyncio.run_coroutine_threadsafe(both(), loop).result(10)
    try:
        assert [asyncio.run(asked(url)), asyncio.run(asked(url))] == ["Hi.", "Hi."]
    finally:
        asyncio.run_coroutine_threadsafe(stub.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
