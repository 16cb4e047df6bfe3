"""Pictures and documents that people give an agent, through a whole Worker."""

import pytest

from psych_runtime import AgentSpec, Media, ModelRef, Store, dispatch, send, thread
from psych_runtime.testing import FakeModel
from psych_runtime_core.messages import FilePart, ImagePart, Part, TextPart, UserMessage
from psych_runtime_core.spec.model import InputKind
from tests.e2e.stage import ACME, at_work, ended

PICTURE = ImagePart(media=Media(media_type="image/png", data=b"\x89PNG"))
DOCUMENT = FilePart(media=Media(media_type="application/pdf", url="https://example.com/a.pdf"), name="a.pdf")
SAID: list[Part] = [TextPart(text="What is this?"), PICTURE]


def spec(*accepts: InputKind) -> AgentSpec:
    return AgentSpec(name="clerk", model=ModelRef(model="fake-1", accepts=accepts))


async def test_the_model_is_given_what_people_gave_the_run(store: Store) -> None:
    model = FakeModel().turn("A picture.").turn("And a document.")
    run_id = (await dispatch(store, spec("image", "file"), ACME, input=SAID)).run_id
    await send(store, run_id, message=[DOCUMENT], queue="follow_up")
    async with at_work(store, model):
        await ended(store, run_id)
    heard = [each.content for each in model.last_request.messages if isinstance(each, UserMessage)]
    # A store of conflicts puts words of its own between the two.
    assert [content for content in heard if not isinstance(content, str)] == [tuple(SAID), (DOCUMENT,)]
    shown = [message.content for message in (await thread(store, run_id)).messages if message.role == "user"]
    assert shown[0] == "What is this?\n[image: image/png, 4 bytes]"
    assert "[file a.pdf: application/pdf]" in shown


async def test_what_the_agent_does_not_accept_is_refused_before_anything_is_written(store: Store) -> None:
    with pytest.raises(ValueError, match="input: this agent accepts no image"):
        await dispatch(store, spec(), ACME, input=SAID)
    run_id = (await dispatch(store, spec("image"), ACME, input=SAID)).run_id
    before = await store.get_run(run_id)
    with pytest.raises(ValueError, match="message: this agent accepts no file"):
        await send(store, run_id, message=[DOCUMENT])
    assert await store.get_run(run_id) == before
