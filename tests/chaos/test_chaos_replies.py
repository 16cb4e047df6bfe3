"""What a LiteLLM proxy says, as the client understands it."""

from decimal import Decimal

import pytest

from psych_runtime import HttpTransport, ModelError, OpenAICompatibleClient
from psych_runtime.model.chat.reply.stream import ChatStream
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.testing.http_stub import Reply
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.ports.model import StreamDone, TextDelta
from tests.chaos import proxy
from tests.chaos.stage import CONTEXT, OVERFLOW, USAGE, Provider, busy, events, refused
from tests.e2e.stage import ACME
from tests.e2e.wire import event, said


async def error(client: OpenAICompatibleClient, model: str) -> ModelError:
    """What a call fails with."""
    with pytest.raises(ModelError) as failed:
        await events(client, model)
    return failed.value


@pytest.mark.parametrize(
    ("reply", "kind", "retry_after", "words"),
    [
        pytest.param(busy("7"), "transient", 7.0, "Slow down.", id="too many requests"),
        pytest.param(busy("0.5"), "transient", 0.5, "Slow down.", id="for half a second"),
        pytest.param(busy("soon"), "transient", None, "Slow down.", id="for nobody knows how long"),
        pytest.param(refused(500, "Boom."), "transient", None, "Boom.", id="a fault of the provider"),
        pytest.param(refused(503, "Full."), "transient", None, "Full.", id="a provider that is full"),
        pytest.param(refused(401, "Bad key."), "auth", None, "Bad key.", id="a bad key"),
        pytest.param(refused(403, "Not yours."), "auth", None, "Not yours.", id="a model that is not for us"),
        pytest.param(
            refused(400, OVERFLOW, code="context_length_exceeded"),
            "context_overflow",
            None,
            "maximum context length is 8192 tokens",
            id="too much context",
        ),
        pytest.param(refused(400, "No such field."), "permanent", None, "No such field.", id="a bad request"),
        pytest.param(refused(422, "Odd."), "permanent", None, "Odd.", id="what the provider cannot process"),
    ],
)
async def test_an_error_of_the_provider_is_classified_through_the_proxy(
    reply: Reply,
    kind: str,
    retry_after: float | None,
    words: str,
    client: OpenAICompatibleClient,
    provider: Provider,
) -> None:
    provider.says(reply)
    failed = await error(client, "relayed")
    assert (failed.kind, failed.retry_after_seconds) == (kind, retry_after)
    assert words in failed.message


@pytest.mark.parametrize(
    ("model", "kind", "status"),
    [
        pytest.param("refused", "transient", 429, id="too many requests"),
        pytest.param("overflowing", "context_overflow", 400, id="too much context"),
        pytest.param("absent", "permanent", 400, id="a model that it does not have"),
    ],
)
async def test_an_error_of_the_proxy_itself_is_classified(
    model: str, kind: str, status: int, client: OpenAICompatibleClient
) -> None:
    failed = await error(client, model)
    assert (failed.kind, failed.status) == (kind, status)


async def test_an_error_in_the_middle_of_an_answer_is_no_answer(
    client: OpenAICompatibleClient, provider: Provider
) -> None:
    broken = b'data: {"error": {"message": "Overloaded.", "code": 503}}\n\n'
    provider.says(
        Reply(headers={"content-type": "text/event-stream"}, chunks=(event(delta={"content": "H"}), broken))
    )
    failed = await error(client, "relayed")
    assert failed.kind == "transient"
    assert "Overloaded." in failed.message


async def test_the_models_of_the_proxy_are_known(client: OpenAICompatibleClient) -> None:
    assert set(await client.known_models(CONTEXT)) == {"mocked", "refused", "overflowing", "relayed"}


async def test_a_streamed_answer_brings_its_usage_and_its_cost(
    client: OpenAICompatibleClient, provider: Provider
) -> None:
    provider.says(said("Hello.", usage=USAGE))
    *deltas, done = await events(client, "relayed")
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello."
    assert isinstance(done, StreamDone)
    assert done.usage is not None
    assert (done.usage.input, done.usage.output) == (1_000, 10)
    assert done.cost is not None
    assert (done.cost.amount, done.cost.currency, done.cost.source) == (Decimal("0.0021"), "USD", "provider")


async def test_the_cost_of_a_whole_answer_is_in_its_headers(
    client: OpenAICompatibleClient, provider: Provider, proxy_url: str
) -> None:
    message = {"role": "assistant", "content": "Hi."}
    choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
    provider.says(Reply(json={"id": "r1", "choices": [choice], "usage": USAGE}))
    transport: HttpTransport = client.transport
    asked = {"model": "relayed", "messages": [{"role": "user", "content": "Hello."}]}
    reply = await transport.request(
        "POST",
        f"{proxy_url}/v1/chat/completions",
        scope=ACME,
        purpose="model",
        headers={"authorization": f"Bearer {proxy.KEY}"},
        json=asked,
        configured=(proxy_url,),
    )
    assert Decimal(reply.headers["x-litellm-response-cost"]) == Decimal("0.0021")
    body = reply.json()
    body["usage"].pop("cost", None)
    done = ChatStream(CallErrors(provider="litellm", model="relayed"), reply.headers).whole(body)[-1]
    assert isinstance(done, StreamDone)
    assert done.cost is not None
    assert (done.cost.amount, done.cost.source) == (Decimal("0.0021"), "provider")
