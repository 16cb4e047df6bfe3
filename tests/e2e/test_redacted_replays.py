"""A redacted export of a Run can be played again: the same course, and none of its words."""

from psych_runtime import InMemoryStore, answer, dispatch, export_run, import_run, records, redacted
from psych_runtime.testing import FakeModel, VirtualClock
from tests.e2e.stage import ACME, agent, at_work, begun, ended, in_virtual_time, registered


@in_virtual_time
async def test_a_redacted_run_plays_with_the_model_of_its_log() -> None:
    seen: list[str] = []

    async def act(name: str) -> str:
        """Does something."""
        seen.append(name)
        return "done"

    store, other = InMemoryStore(clock=VirtualClock()), InMemoryStore(clock=VirtualClock())
    model = FakeModel().turn(tool_calls=[("act", {"name": "Ada"})]).turn("Well, Ada.")
    async with at_work(store, model, registered(act)):
        run_id = await begun(store, agent("act"))
        await ended(store, run_id)
    await import_run(other, redacted(export_run(store, run_id)))
    assert [each.type for each in await records(other, run_id)] == [
        each.type for each in await records(store, run_id)
    ]
    again = FakeModel.from_log(await records(other, run_id))
    async with at_work(other, again, registered(act)):
        version_hash = (await other.get_run(run_id)).version_hash
        replayed = (await dispatch(other, version_hash, ACME, input="Hello.")).run_id
        await ended(other, replayed)
    assert seen == ["Ada", "<text 3>"]
    assert (await answer(other, replayed)).text == (await answer(other, run_id)).text == "<text 10>"
