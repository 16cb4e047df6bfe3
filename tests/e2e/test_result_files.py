"""Pictures and documents that tools give back, through a whole Worker."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from psych_runtime import AgentSpec, ModelRef, RunId, Store, dispatch, records, thread
from psych_runtime.testing import FakeModel, HttpStub, Reply
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime_core.ids import derive_handle
from psych_runtime_core.messages import ImagePart, Media, TextPart, ToolResultMessage
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.model import InputKind
from psych_runtime_core.spec.tools import CodeTool
from tests.e2e.kept_results import WithoutBlobs
from tests.e2e.stage import ACME, at_work, ended, only, registered
from tests.e2e.test_http_tools import reaching

PNG = b"\x89PNG"
CHART = File("chart.png", "image/png", PNG)


def spec(*accepts: InputKind, tool: CodeTool | HttpTool | None = None) -> AgentSpec:
    return AgentSpec(
        name="clerk",
        model=ModelRef(model="fake-1", accepts=accepts),
        tools=(tool or CodeTool(name="draw"),),
    )


async def drawn(
    store: Store, make: Callable[[], object], given: AgentSpec, turns: int = 1
) -> tuple[RunId, ToolCallFinished, FakeModel]:
    """The last result of a tool that returns what `make` makes, and the model that was told of it."""

    async def draw() -> Any:
        """Draws."""
        return make()

    model = FakeModel()
    for _ in range(turns):
        model.turn(tool_calls=[("draw", {})])
    async with at_work(store, model.turn("Done."), registered(draw)):
        run_id = (await dispatch(store, given, ACME, input="Hello.")).run_id
        await ended(store, run_id)
    return run_id, only(ToolCallFinished, await records(store, run_id))[-1], model


def told(model: FakeModel) -> ToolResultMessage:
    return [each for each in model.last_request.messages if isinstance(each, ToolResultMessage)][-1]


async def test_a_picture_reaches_a_model_that_takes_pictures(store: Store) -> None:
    run_id, end, model = await drawn(store, lambda: ToolOutput({"bars": 3}, (CHART,)), spec("image"))
    (kept,) = end.attachments
    assert (end.outcome, end.result, kept.data, kept.stored) == ("ok", {"bars": 3}, PNG, "inline")
    assert kept.handle == derive_handle(run_id, end.call_id, 0)
    text = '{"bars":3}\n[file chart.png: image/png, 4 bytes]'
    picture = ImagePart(media=Media(media_type="image/png", data=PNG))
    assert told(model).content == (TextPart(text=text), picture)
    shown = [message.content for message in (await thread(store, run_id)).messages if message.role == "tool"]
    assert shown == [text]


async def test_what_the_model_does_not_take_is_told_in_words_and_kept(store: Store) -> None:
    _, end, model = await drawn(store, lambda: CHART, spec())
    (kept,) = end.attachments
    assert (kept.data, end.media) == (PNG, ())
    expected = f"[file chart.png: image/png, 4 bytes; its content is not shown, it is kept as {kept.handle}]"
    assert told(model).content == expected


async def test_equal_values_with_other_files_are_no_repetition(store: Store) -> None:
    drawings = iter(range(100))
    _, end, _ = await drawn(
        store, lambda: File("a.png", "image/png", bytes([next(drawings)])), spec("image"), turns=5
    )
    assert end.outcome == "ok"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: bytes(16_385), id="one file"),
        pytest.param(
            lambda: ToolOutput("v", (File("a", "text/plain", bytes(16_000)),) * 5), id="all of them"
        ),
    ],
)
async def test_without_blobs_a_file_that_no_log_holds_is_an_error_that_says_that_the_tool_ran(
    store: Store, make: Callable[[], object]
) -> None:
    _, end, model = await drawn(WithoutBlobs(store), make, spec())
    assert end.failure is not None
    assert (end.outcome, end.failure.kind, end.attachments) == ("error", "blob_store_required", ())
    assert "did run" in told(model).text


async def test_the_bytes_of_an_endpoint_are_a_file_that_is_named_after_it(store: Store) -> None:
    model = FakeModel().turn(tool_calls=[("draw", {})]).turn("Done.")
    async with HttpStub() as stub:
        stub.on("GET", "/chart", Reply(body=PNG, headers={"content-type": "image/png"}))
        tool = HttpTool(name="draw", description="Draws.", url=f"{stub.url}/chart", method="GET")
        async with at_work(store, model, runtime=reaching()):
            run_id = (await dispatch(store, spec("image", tool=tool), ACME, input="Hello.")).run_id
            await ended(store, run_id)
    (end,) = only(ToolCallFinished, await records(store, run_id))
    assert [(kept.name, kept.content_type, kept.data) for kept in end.attachments] == [
        ("draw.png", "image/png", PNG)
    ]
    content = told(model).content
    assert isinstance(content, tuple)
    assert content[1] == ImagePart(media=Media(media_type="image/png", data=PNG))


async def test_a_tool_in_a_thread_gives_files_too(store: Store) -> None:
    def draw() -> bytes:
        """Draws."""
        return PNG

    model = FakeModel().turn(tool_calls=[("draw", {})]).turn("Done.")
    async with at_work(store, model, registered(draw)):
        run_id = (await dispatch(store, spec(), ACME, input="Hello.")).run_id
        await asyncio.wait_for(ended(store, run_id), 30)
    (end,) = only(ToolCallFinished, await records(store, run_id))
    assert [kept.name for kept in end.attachments] == ["output.bin"]
