"""What a model call cost that broke off: what its provider told of it, and else an unknown sum."""

import json
from decimal import Decimal
from typing import Any

import pytest

from psych_runtime import ByModel, ModelPrice, OpenAICompatibleClient, StaticPriceTable, Store, report
from psych_runtime.testing.http_stub import Raw, Reply
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.views.report_model import RunReport
from tests.e2e.stage import agent, at_work, begun, ended
from tests.e2e.wire import event, failed, provider, said

PRICES = StaticPriceTable({"fake-1": ModelPrice("2.5", "10"), "served-1": ModelPrice("1", "1")})
ANSWERED = said("Hi.", usage={"prompt_tokens": 10, "completion_tokens": 5})
# The answer's, and what 1000 and 500 tokens cost that came before it.
ITS, MORE = Decimal("0.000075"), Decimal("0.0075")
HALF = event(delta={"content": "Hel"})


def chunk(**fields: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [], **fields}).encode() + b"\n\n"


def usage(prompt: int, completion: int, **fields: Any) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion, **fields}}


def broken(*chunks: bytes) -> Reply:
    """A stream that ends before its answer does."""
    return Reply(headers={"content-type": "text/event-stream"}, chunks=chunks)


OVERLOADED = chunk(error={"message": "overloaded", "code": 503})


async def reported(store: Store, client: ModelClient, model: str = "fake-1") -> RunReport:
    """A Run of `model`, whose other tries are of fake-1."""
    others = [] if model == "fake-1" else ["fake-1"]
    spec = agent().model_copy(update={"model": {"model": model, "fallbacks": others}})
    async with at_work(store, client, runtime={"prices": PRICES}):
        run_id = await begun(store, spec)
        await ended(store, run_id)
    return await report(store, run_id)


@pytest.mark.parametrize(
    ("reply", "cost", "incomplete"),
    [
        pytest.param(broken(HALF), ITS, True, id="cut in the text"),
        pytest.param(Raw((), close="reset"), ITS, True, id="cut before the first byte"),
        pytest.param(broken(HALF, OVERLOADED), ITS, True, id="an error in the text"),
        pytest.param(broken(HALF, b"data: {no\n\n", HALF), ITS, True, id="an event nobody can read"),
        pytest.param(broken(HALF, chunk(**usage(1000, 500))), ITS + MORE, False, id="usage, then cut"),
        pytest.param(
            broken(chunk(**usage(1000, 1)), chunk(**usage(1000, 500)), HALF),
            ITS + MORE,
            False,
            id="usage that counts up, then cut",
        ),
        pytest.param(
            broken(chunk(**usage(1000, 500)), OVERLOADED), ITS + MORE, False, id="usage, then an error"
        ),
        pytest.param(
            broken(chunk(**usage(1000, 500), error={"message": "overloaded"})),
            ITS + MORE,
            False,
            id="usage beside an error",
        ),
        pytest.param(
            broken(HALF, chunk(**usage(1, 1, cost="0.5"))), ITS + Decimal("0.5"), False, id="cost, then cut"
        ),
        pytest.param(failed(503, message="overloaded"), ITS, False, id="a status instead of an answer"),
        pytest.param(failed(429, message="slow down"), ITS, False, id="too many requests"),
        pytest.param(broken(OVERLOADED), ITS, False, id="a status in place of the first chunk"),
    ],
)
async def test_a_sum_is_complete_if_each_try_that_had_begun_has_a_cost(
    store: Store, reply: Any, cost: Decimal, incomplete: bool
) -> None:
    async with provider(reply, ANSWERED) as (_, client):
        found = await reported(store, client)
    assert found.totals.cost is not None
    assert found.totals.failed_model_calls == 1
    assert (found.totals.cost.amount, found.totals.cost_is_incomplete) == (cost, incomplete)
    assert found.totals.unpriced_model_calls == incomplete
    (lane,) = found.lanes
    assert (lane.cost, lane.cost_is_incomplete) == (found.totals.cost, incomplete)


async def test_a_try_that_broke_off_has_the_price_of_the_model_that_was_served(store: Store) -> None:
    cut = broken(chunk(model="served-1", **usage(1000, 500)), HALF)
    async with provider(cut, ANSWERED) as (_, client):
        found = await reported(store, client, "an-alias")
    first = found.model_calls[0]
    assert first.usage is not None
    assert first.cost is not None
    assert (first.usage.output, first.cost.amount) == (500, Decimal("0.0015"))
    assert not found.totals.cost_is_incomplete


def no_headers(_context: object) -> dict[str, str]:
    raise TimeoutError


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"base_url": "http://127.0.0.1:9/v1"}, id="nobody listens"),
        pytest.param({"headers": no_headers}, id="its headers could not be had"),
    ],
)
async def test_a_try_of_which_nothing_was_sent_costs_nothing(store: Store, fault: dict[str, Any]) -> None:
    async with provider(ANSWERED) as (stub, client):
        given: dict[str, Any] = {"base_url": f"{stub.url}/v1", **fault}
        unsent = OpenAICompatibleClient(**given)
        found = await reported(store, ByModel({"first": unsent, "*": client}), "first")
    assert (found.totals.failed_model_calls, found.totals.cost_is_incomplete) == (1, False)
