"""How Runs are driven through the proxy, and what the provider behind it sees of them."""

from collections.abc import Mapping
from contextlib import aclosing

from psych_runtime import AgentSpec, ModelCallContext, ModelRef, ModelRequest, OpenAICompatibleClient, RunId
from psych_runtime.testing.http_stub import Answer, HttpStub, Reply, SeenRequest
from psych_runtime_core.messages import UserMessage
from psych_runtime_core.ports.model import StreamEvent
from tests.e2e.stage import ACME, agent
from tests.e2e.wire import PATH

CONTEXT = ModelCallContext(ACME, RunId("run_1"), "", "clerk", 1, 0)
USAGE: Mapping[str, int] = {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010}
OVERFLOW = "This model's maximum context length is 8192 tokens, and your messages resulted in 9000 tokens."


class Provider:
    """Replies for one test, and the requests that came in it."""

    def __init__(self, stub: HttpStub) -> None:
        self._stub, self._before = stub, len(stub.requests)

    def says(self, *replies: Answer) -> None:
        self._stub.on("POST", PATH, *replies)

    @property
    def requests(self) -> tuple[SeenRequest, ...]:
        return self._stub.requests[self._before :]

    async def asked(self) -> SeenRequest:
        """The first request of this test, once it came."""
        return (await self._stub.wait_for(self._before + 1))[-1]


def asking(model: str, *tools: str, fallbacks: tuple[str, ...] = ()) -> AgentSpec:
    """An agent that asks this model of the proxy."""
    return agent(*tools).model_copy(update={"model": ModelRef(model=model, fallbacks=fallbacks)})


def refused(status: int, message: str, *, retry_after: str | None = None, **error: str) -> Reply:
    """A refusal in the provider's words."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Reply(status=status, json={"error": {"message": message, **error}}, headers=headers)


def busy(retry_after: str) -> Reply:
    return refused(429, "Slow down.", retry_after=retry_after, code="rate_limit_exceeded")


async def events(client: OpenAICompatibleClient, model: str) -> list[StreamEvent]:
    """What one call of this model streams."""
    request = ModelRequest(model, (UserMessage(content="Hello."),))
    async with aclosing(client.stream(request, CONTEXT)) as stream:
        return [event async for event in stream]
