"""Pictures and documents that stand in blobs, and reach the model with their bytes all the same."""

from typing import Any

import pytest

from psych_runtime import AgentSpec, Limits, ModelRef, RunId, Store, StoreUnavailable, records
from psych_runtime.testing import FakeModel
from psych_runtime.testing.http_stub import Reply, SeenRequest
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime_core.messages import ImagePart, Media, ToolResultMessage
from psych_runtime_core.ports.blob import blobs_of
from psych_runtime_core.ports.model import ModelRequest
from psych_runtime_core.records.turn import ModelCallFailed
from psych_runtime_core.spec.tools import CodeTool
from tests.e2e.kept_results import CountedBlobs, WithoutBlobs, giving
from tests.e2e.stage import at_work, begun, ended, only, results, seen
from tests.e2e.wire import answer_asked, bodies, extend, provider, said

PNG = b"\x89PNG" + bytes(range(256)) * 200
CHART = File("chart.png", "image/png", PNG)
SPEC = AgentSpec(
    name="clerk",
    model=ModelRef(model="fake-1", accepts=("image",)),
    tools=(CodeTool(name="give"),),
    limits=Limits(repeat_call_threshold=100, repeat_call_hard_stop=200),
)


def pictures(request: ModelRequest) -> list[Media]:
    """Those that a request shows."""
    parts = [
        part
        for message in request.messages
        if isinstance(message, ToolResultMessage) and not isinstance(message.content, str)
        for part in message.content
    ]
    return [part.media for part in parts if isinstance(part, ImagePart)]


def looking(turns: int = 3) -> FakeModel:
    """A model that asks for one picture after another."""
    return FakeModel().turn(tool_calls=[("give", {})], times=turns).turn("Done.")


async def run(store: Store, model: Any, value: object, **ports: Any) -> RunId:
    async with at_work(store, model, giving(value), runtime=ports):
        run_id = await begun(store, SPEC)
        await ended(store, run_id)
    return run_id


async def test_a_picture_out_of_a_blob_reaches_the_model_and_is_fetched_once(store: Store) -> None:
    blobs, model = CountedBlobs(blobs_of(store)), looking(2)
    run_id = await run(store, model, CHART, blobs=blobs)
    whole = Media(media_type="image/png", data=PNG)
    assert [pictures(request) for request in model.requests] == [[], [whole], [whole, whole]]
    assert blobs.asked == ["put", "get"] * 2
    for end in await results(store, run_id):
        (kept,) = end.attachments
        (part,) = end.media
        assert (kept.stored, kept.data, kept.sha256) == ("blob", None, whole.sha256)
        assert part.media == Media(
            media_type="image/png",
            blob_key=f"{end.call_id}.{end.epoch}.0",
            size_bytes=len(PNG),
            sha256=whole.sha256,
        )


async def test_one_picture_of_many_may_stand_in_a_blob(store: Store) -> None:
    small = File("dot.png", "image/png", b"\x89PNG dot")
    model = looking(1)
    await run(store, model, ToolOutput("Both.", (small, CHART)))
    assert [media.data for media in pictures(model.last_request)] == [small.data, PNG]


async def test_what_is_sent_of_it_is_the_same_in_each_request(store: Store) -> None:
    def reply(request: SeenRequest) -> Reply:
        n = answer_asked(request)
        return said("Done.") if n > 4 else said(calls=[("give", {})])

    async with provider(reply) as (stub, client):
        await run(store, client, CHART)
        asked = bodies(stub.requests)
    assert len(asked) == 5
    # From the first handle on one more tool is offered, and tools stand before all that is said.
    assert extend(asked[1:])


class Deleted(CountedBlobs):
    async def get(self, key: Any, **told: Any) -> bytes:
        await self._blobs.delete(key)
        return await super().get(key, **told)


class Exchanged(CountedBlobs):
    async def get(self, key: Any, **told: Any) -> bytes:
        await self._blobs.put(key, b"other", content_type="image/png")
        return await super().get(key, **told)


@pytest.mark.parametrize("harmed", [Deleted, Exchanged])
async def test_a_picture_whose_blob_is_gone_ends_the_run_for_good(
    store: Store, harmed: type[CountedBlobs]
) -> None:
    model = looking(1)
    run_id = await run(store, model, CHART, blobs=harmed(blobs_of(store)))
    assert len(model.requests) == 1
    (failed,) = only(ModelCallFailed, await records(store, run_id))
    assert (failed.failure.kind, failed.failure.code, failed.next) == ("permanent", "media_missing", "stop")
    assert "Keep the blobs of a Run" in failed.failure.message


async def test_a_worker_without_the_blobs_has_no_picture(store: Store) -> None:
    class Away(CountedBlobs):
        async def get(self, key: Any, **told: Any) -> bytes:
            raise StoreUnavailable("get", "they are away")

    model = looking(1)
    async with at_work(store, model, giving(CHART), runtime={"blobs": Away(blobs_of(store))}):
        run_id = await begun(store, SPEC)
        await seen(store, run_id, lambda state: state.blobs)
    async with at_work(WithoutBlobs(store), model, giving(CHART)):
        await ended(store, run_id)
    last = only(ModelCallFailed, await records(store, run_id))[-1]
    assert (last.failure.code, last.next) == ("media_missing", "stop")


async def test_blobs_that_are_away_for_now_are_asked_for_again(store: Store) -> None:
    class Late(CountedBlobs):
        async def get(self, key: Any, **told: Any) -> bytes:
            self._ask("get")
            if self.asked.count("get") == 1:
                raise StoreUnavailable("get", "they are away")
            return await self._blobs.get(key, **told)

    model = looking(1)
    await run(store, model, CHART, blobs=Late(blobs_of(store)))
    assert [media.data for media in pictures(model.last_request)] == [PNG]
