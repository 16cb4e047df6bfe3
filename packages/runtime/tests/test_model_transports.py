"""There is one way out, also behind a client that stands in front of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from psych_runtime import ByModel, HttpTransport, InMemoryStore, ModelClient, OpenAICompatibleClient, Runtime
from psych_runtime.testing import FakeModel, RecordingClient
from psych_runtime.tools.registry import ToolRegistry

OURS = HttpTransport()


def client(transport: HttpTransport | None = OURS) -> OpenAICompatibleClient:
    return OpenAICompatibleClient(base_url="http://127.0.0.1:1/v1", transport=transport)


def runtime(model: ModelClient, transport: HttpTransport | None = None) -> Runtime:
    return Runtime(store=InMemoryStore(), model=model, registry=ToolRegistry(), transport=transport)


@pytest.fixture
def wrapped(tmp_path: Path) -> list[ModelClient]:
    return [
        client(),
        ByModel({"a": client(), "*": client()}),
        RecordingClient(client(), tmp_path / "one.jsonl"),
        RecordingClient(ByModel({"*": client(), "b": FakeModel()}), tmp_path / "two.jsonl"),
    ]


def test_a_runtime_goes_out_as_its_client_does(wrapped: list[ModelClient]) -> None:
    assert all(runtime(model).http is OURS for model in wrapped)
    assert all(runtime(model, OURS).http is OURS for model in wrapped)


def test_another_way_out_is_refused(wrapped: list[ModelClient]) -> None:
    for model in wrapped:
        with pytest.raises(ValueError, match="one way out"):
            runtime(model, HttpTransport())


async def test_without_one_that_is_shared_a_new_one_is_opened_and_closed() -> None:
    split = ByModel({"a": client(None), "*": client(None)})
    async with runtime(split) as opened:
        made = opened.http
        assert made is opened.http
        assert made not in {one.transport for one in (client(),)}
    assert runtime(FakeModel()).http is not made
