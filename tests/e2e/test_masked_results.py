"""Results in which a secret is looked for: a large one beside the loop, and none that is not kept."""

import threading

import pytest

from psych_runtime import Store, ToolContext, dispatch, records
from psych_runtime.secrets.in_memory import InMemorySecretResolver
from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.records.tool import ToolCallFinished
from tests.e2e.kept_results import WithoutBlobs
from tests.e2e.stage import ACME, at_work, ended, only, registered
from tests.e2e.test_secrets import FUNCTION, SECRET, asking

MASK = "[secret:crm]"


class Searched(list[threading.Thread]):
    """The threads in which values were searched for secrets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        searched = Masks.json

        def json(masks: Masks, value: Json) -> Json:
            self.append(threading.current_thread())
            return searched(masks, value)

        monkeypatch.setattr(Masks, "json", json)


async def looked(store: Store, before: str, behind: str = "", files: int = 0) -> ToolCallFinished:
    """The end of a call whose result is a secret between two texts."""

    async def look(n: int, context: ToolContext) -> object:
        """Looks."""
        told = (await context.secret("crm")).get_secret_value()
        return ToolOutput(before + told + behind, (File("a", "text/plain", bytes(16_000)),) * files)

    secrets = InMemorySecretResolver({("acme", "crm"): SECRET})
    async with at_work(store, asking(), registered(look), runtime={"secrets": secrets}):
        run_id = (await dispatch(store, FUNCTION, ACME, input="Hello.")).run_id
        await ended(store, run_id)
    (end,) = only(ToolCallFinished, await records(store, run_id))
    return end


@pytest.mark.parametrize(
    ("size", "files", "beside"),
    [
        pytest.param(1_000, 0, False, id="a small one"),
        pytest.param(100_000, 0, True, id="a large one"),
        pytest.param(10_000, 4, True, id="one that is large with its files"),
    ],
)
async def test_a_large_result_is_searched_beside_the_loop(
    store: Store, monkeypatch: pytest.MonkeyPatch, size: int, files: int, beside: bool
) -> None:
    searched = Searched(monkeypatch)
    end = await looked(store, "&abcd;" * (size // 6), files=files)
    assert end.outcome == "ok"
    assert end.result == "&abcd;" * (size // 6) + MASK
    assert [thread is not threading.main_thread() for thread in searched] == [beside]


@pytest.mark.parametrize("before", [0, 1_985, 1_995, 2_000])
async def test_a_result_that_is_not_kept_is_not_searched_and_shows_no_secret(
    store: Store, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    searched = Searched(monkeypatch)
    end = await looked(WithoutBlobs(store), "." * before, behind="." * 400_000)
    assert end.failure is not None
    assert end.failure.kind == "blob_store_required"
    assert searched == []
    assert end.preview is not None
    assert (f"{'.' * before}{MASK}" + "." * 2_000).startswith(end.preview)
    assert SECRET[:3] not in end.preview + end.failure.message
