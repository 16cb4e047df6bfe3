"""Answers that are as large as can be, and larger."""

import pytest

from psych_runtime import Media, Store, Usage, answer, records
from psych_runtime.testing import FakeModel
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from tests.e2e.stage import agent, at_work, begun, ended, only

MIB = 1024 * 1024
CYRILLIC = "\u0434" * 900_000


def picture(size: int) -> Media:
    return Media(media_type="image/png", data=b"x" * size)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(FakeModel().turn("Here.", media=(picture(2 * MIB),)).repeat(), id="a picture of 2 MiB"),
        pytest.param(
            FakeModel().turn(CYRILLIC, opaque={"a": "\ud800"}).repeat(), id="a lone surrogate beside it"
        ),
    ],
)
async def test_what_a_record_holds_is_kept(store: Store, model: FakeModel) -> None:
    async with at_work(store, model):
        run_id = await begun(store, agent())
        await ended(store, run_id)
    assert (await answer(store, run_id)).finished
    (call,) = only(ModelCallFinished, await records(store, run_id))
    assert call.message.says_something


@pytest.mark.parametrize(
    "media",
    [
        pytest.param((picture(4 * MIB),), id="a picture of 4 MiB"),
        pytest.param((picture(900_000),) * 4, id="four of 0.9 MB"),
    ],
)
async def test_what_no_record_holds_is_a_failed_call_that_was_paid(
    store: Store, media: tuple[Media, ...]
) -> None:
    model = FakeModel().turn("Here.", media=media, usage=Usage(input=7, output=3))
    async with at_work(store, model):
        run_id = await begun(store, agent())
        state = await ended(store, run_id)
    (call,) = only(ModelCallFailed, await records(store, run_id))
    assert (call.failure.kind, call.failure.code) == ("permanent", "answer_too_large")
    assert call.usage == Usage(input=7, output=3)
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == "permanent"
