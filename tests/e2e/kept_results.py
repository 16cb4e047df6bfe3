"""Agents whose tool gives more than a model is told, and models that read on."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psych_runtime import AgentSpec, ToolRegistry
from psych_runtime.testing import FakeModel, FakeTurn, StoreProxy
from psych_runtime.testing.fake_script import ReceivedCall
from psych_runtime_core.ids import HANDLE
from psych_runtime_core.messages import ToolResultMessage
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest
from tests.e2e.stage import agent


class WithoutBlobs(StoreProxy):
    """A store that keeps no blobs."""

    @property
    def blobs(self) -> BlobStore | None:
        return None


class CountedBlobs:
    """Counts what is asked of blobs, and refuses it while `away` says why."""

    def __init__(self, blobs: BlobStore | None) -> None:
        assert blobs is not None
        self._blobs = blobs
        self.asked: list[str] = []
        self.away: Callable[[], Exception] | None = None
        self.open, self.head, self.list = blobs.open, blobs.head, blobs.list
        self.delete, self.delete_run = blobs.delete, blobs.delete_run

    async def put(self, key: Any, content: Any, **told: Any) -> Any:
        self._ask("put")
        return await self._blobs.put(key, content, **told)

    async def get(self, key: Any, **told: Any) -> bytes:
        self._ask("get")
        return await self._blobs.get(key, **told)

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.away is not None:
            raise self.away()


def giving(value: object, **flags: Any) -> ToolRegistry:
    """A tool `give` that gives this."""
    registry = ToolRegistry()

    @registry.register(**flags)
    async def give() -> Any:
        """Gives."""
        return value

    return registry


def clerk(**fields: Any) -> AgentSpec:
    """An agent that may call it."""
    return agent("give", **fields)


def results_told(request: ModelRequest) -> list[str]:
    """The text of each result in a request."""
    return [message.text for message in request.messages if isinstance(message, ToolResultMessage)]


def pages_told(request: ModelRequest) -> list[Mapping[str, Any]]:
    """What the readings of a request gave."""
    found = (text for text in results_told(request) if text.startswith('{"binary"'))
    return [json.loads(text) for text in found]


def reading(*windows: Mapping[str, Any], handle: str | None = None) -> FakeModel:
    """A model that has something given, reads each of these windows of it, and is done."""
    model = FakeModel().turn(tool_calls=[("give", {})])
    for window in windows:
        model.turn(_read(window, handle))
    return model.turn("Done.")


def _read(
    window: Mapping[str, Any], handle: str | None
) -> Callable[[ModelRequest, ModelCallContext], FakeTurn]:
    def turn(request: ModelRequest, context: ModelCallContext) -> FakeTurn:
        del context
        told = HANDLE.search(results_told(request)[0])
        named = handle or (told[0] if told else "")
        return FakeTurn(tool_calls=[("read_tool_output", {"handle": named, **window})])

    return turn


def offered(calls: Sequence[ReceivedCall]) -> list[list[str]]:
    """The names of the tools of each request."""
    return [[tool.name for tool in call.request.tools] for call in calls]
