"""How Runs are driven through the proxy, and what the provider behind it sees of them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager

from psych_runtime import AgentSpec, ModelCallContext, ModelRef, ModelRequest, OpenAICompatibleClient, RunId
from psych_runtime.testing.http_stub import Answer, HttpStub, Reply, SeenRequest
from psych_runtime_core.messages import UserMessage
from psych_runtime_core.ports.model import StreamEvent
from tests.chaos.proxy import KEY
from tests.e2e.stage import ACME, agent
from tests.e2e.wire import PATH

CONTEXT = ModelCallContext(ACME, RunId("run_1"), "", "clerk", 1, 0)
USAGE: Mapping[str, int] = {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010}
OVERFLOW = "This model's maximum context length is 8192 tokens, and your messages resulted in 9000 tokens."


class Provider:
    """Replies for one test, and the calls that came in it."""

    def __init__(self, stub: HttpStub) -> None:
        self._stub, self._before = stub, len(stub.requests)

    def says(self, *replies: Answer) -> None:
        self._stub.on("POST", PATH, *replies)

    @property
    def requests(self) -> tuple[SeenRequest, ...]:
        return tuple(each for each in self._stub.requests[self._before :] if each.path == PATH)

    async def asked(self) -> SeenRequest:
        """The first request of this test, once it came."""
        while not self.requests:
            await self._stub.wait_for(len(self._stub.requests) + 1)
        return self.requests[0]


def asking(model: str, *tools: str, fallbacks: tuple[str, ...] = ()) -> AgentSpec:
    """An agent that asks this model of the proxy."""
    return agent(*tools).model_copy(update={"model": ModelRef(model=model, fallbacks=fallbacks)})


def refused(status: int, message: str, *, retry_after: str | None = None, **error: str) -> Reply:
    """A refusal in the provider's words."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Reply(status=status, json={"error": {"message": message, **error}}, headers=headers)


def busy(retry_after: str) -> Reply:
    return refused(429, "Slow down.", retry_after=retry_after, code="rate_limit_exceeded")


@asynccontextmanager
async def client_of(url: str) -> AsyncGenerator[OpenAICompatibleClient]:
    """A client of the proxy there, whose connections are closed when the block is left."""
    client = OpenAICompatibleClient(base_url=f"{url}/v1", api_key=KEY)
    try:
        yield client
    finally:
        await client.transport.aclose()


async def events(client: OpenAICompatibleClient, model: str) -> list[StreamEvent]:
    """What one call of this model streams."""
    request = ModelRequest(model, (UserMessage(content="Hello."),))
    async with aclosing(client.stream(request, CONTEXT)) as stream:
        return [event async for event in stream]
