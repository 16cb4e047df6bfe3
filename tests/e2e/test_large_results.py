"""Results that are more than a model is told: kept whole, paged through and searched."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from psych_runtime import (
    AllowAll,
    Decision,
    FilesystemBlobStore,
    InMemoryStore,
    JsonObject,
    Limits,
    RunId,
    RunQuery,
    Scope,
    SealedBlobs,
    Store,
    StoreUnavailable,
    ToolDefinition,
    blob_key,
    dispatch,
    open_store,
    purge,
    report,
    thread,
)
from psych_runtime.attempt import outputs
from psych_runtime.testing import FakeModel, RecordingClient, ReplayClient, VirtualClock
from psych_runtime.tools.output import File
from psych_runtime_contract.codec import SealingStandIn
from psych_runtime_core.ids import derive_handle
from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.ports.blob import BlobStore, blobs_of
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.records.facts import ToolOutcome
from psych_runtime_core.records.tool import ToolCallFinished
from tests.e2e.kept_results import (
    CountedBlobs,
    WithoutBlobs,
    clerk,
    giving,
    offered,
    pages_told,
    reading,
    results_told,
)
from tests.e2e.stage import ACME, at_work, begun, ended, in_virtual_time, results

CHANCE = random.Random(7)
ROWS = [
    {"number": n, "text": "".join(CHANCE.choices("abcdefgh (+*)", k=200)), "even": n % 2 == 0}
    for n in range(21_000)
]
MEGABYTES = encode_json(ROWS)
LINES = 5 * len(ROWS) + 2
PATIENT = Limits(max_turns=100, repeat_call_threshold=100, repeat_call_hard_stop=200)


async def run(
    store: Store, value: object, model: ModelClient, *, limits: Limits = PATIENT, **ports: Any
) -> tuple[RunId, list[ToolCallFinished]]:
    """A Run whose tool gives this, and all its results."""
    async with at_work(store, model, giving(value), runtime=ports):
        run_id = await begun(store, clerk(limits=limits))
        state = await ended(store, run_id)
    assert state.terminal_state == "completed"
    return run_id, await results(store, run_id)


def told(model: FakeModel) -> list[str]:
    return results_told(model.last_request)


# --- 5 MB ------------------------------------------------------------------------------------------------


async def test_megabytes_are_kept_paged_and_searched(store: Store, tmp_path: Path) -> None:
    kept = blobs_of(store)
    assert kept is not None
    await read_megabytes(store, CountedBlobs(kept))
    await read_megabytes(store, CountedBlobs(FilesystemBlobStore(tmp_path / "blobs")))


async def read_megabytes(store: Store, blobs: CountedBlobs) -> None:
    pages: list[Mapping[str, Any]] = [{"offset": 5_000 * n, "limit": 40} for n in range(20)]
    last = {"offset": LINES - 2}
    hostile = {"pattern": "((a+)+)+$"}
    word = {"pattern": '"NUMBER": 2099', "limit": 2}
    small = {"pattern": '"number": 2099', "limit": 2, "offset": 1}
    model = reading(*pages, last, hostile, word, small)
    run_id, (given, *_) = await run(store, ROWS, model, blobs=blobs)
    assert len(MEGABYTES) > 5_000_000

    handle = derive_handle(run_id, given.call_id)
    assert (given.outcome, given.result, given.result_bytes) == ("ok", None, len(MEGABYTES))
    assert given.result_handle == handle
    key = f"{given.call_id}.{given.epoch}"
    assert given.result_blob_key == key
    assert given.result_content_type == "application/json"
    beginning = MEGABYTES[:2_000].decode()
    assert given.preview == beginning
    assert await blobs.get(blob_key(ACME, run_id, key)) == MEGABYTES
    assert (await store.get_run(run_id)).blobs
    # One put, one get for all that was read, and the one above.
    assert blobs.asked == ["put", "get", "get"]

    first = told(model)[0]
    assert f"{len(MEGABYTES)} bytes" in first
    assert handle in first
    assert first.endswith(beginning)
    assert len(first) < 2_400
    told_pages = pages_told(model.last_request)
    assert len(told_pages) == 24
    common = {"handle": handle, "binary": False, "total_size_bytes": len(MEGABYTES), "total_lines": LINES}
    assert all(common.items() <= page.items() for page in told_pages)
    assert told_pages[0]["content"].startswith('[\n  {\n    "even": true,\n    "number": 0,\n    "text": ')
    assert [page["truncated"] for page in told_pages] == [True] * 20 + [False, False, False, True]
    assert told_pages[20]["content"] == "  }\n]"
    assert (told_pages[21]["total_matches"], told_pages[21]["matches"]) == (0, [])
    assert told_pages[22]["total_matches"] == 0
    assert told_pages[23]["total_matches"] == 11
    number = told_pages[23]["matches"][0]["line_number"]
    assert told_pages[23]["matches"][0]["text"] == '    "number": 20990,'
    assert number == 5 * 20_990 + 4
    assert told_pages[23]["content"] == ""


async def test_what_was_kept_is_found_by_whoever_reads_the_run(store: Store) -> None:
    model = reading({"limit": 1})
    run_id, (given, read) = await run(store, ROWS, model)
    shown = (await report(store, run_id)).tool_calls
    assert [each.result_handle for each in shown] == [given.result_handle, None]
    assert (shown[0].result_blob_key, shown[0].result_content_type) == (
        given.result_blob_key,
        "application/json",
    )
    assert (shown[0].result_bytes, shown[0].preview) == (given.result_bytes, given.preview)
    messages = [each.content for each in (await thread(store, run_id)).messages if each.role == "tool"]
    assert messages == told(model)
    assert read.result == pages_told(model.last_request)[0]


# --- less than that --------------------------------------------------------------------------------------

TEXT = "\n".join(f"line {n} of many" for n in range(3_000))


async def test_a_large_result_stands_in_its_record_and_is_told_in_part(store: Store) -> None:
    model = reading({"offset": 2_999}, {"pattern": "LINE 7 "}, {"pattern": "line 7 "})
    run_id, (given, *_) = await run(store, TEXT, model)
    assert (given.result, given.result_blob_key) == (TEXT, None)
    assert (given.preview, given.result_handle) == (TEXT[:2_000], derive_handle(run_id, given.call_id))
    assert told(model)[0].endswith(TEXT[:2_000])
    last, nothing, found = pages_told(model.last_request)
    assert (last["content"], last["total_lines"]) == ("line 2999 of many", 3_000)
    assert (nothing["total_matches"], found["total_matches"]) == (0, 1)
    assert found["matches"] == [{"line_number": 8, "text": "line 7 of many"}]
    assert not (await store.get_run(run_id)).blobs


@pytest.mark.parametrize(("size", "is_large"), [(98, False), (99, True)])
async def test_how_much_a_model_is_told_is_the_specs_to_say(store: Store, size: int, is_large: bool) -> None:
    model = reading()
    _, (given,) = await run(store, "x" * size, model, limits=Limits(large_result_bytes=100))
    assert (given.result_handle is not None) is is_large
    assert (told(model) == ["x" * size]) is not is_large


async def test_a_page_is_told_whole_however_little_is_told_of_a_result(store: Store) -> None:
    model = reading({"limit": 1_000})
    limits = Limits(large_result_bytes=1)
    _, (_, read) = await run(store, "🙂" * 9_000, model, limits=limits, blob_offload_bytes=1)
    assert (read.result_handle, read.result_blob_key) == (None, None)
    assert pages_told(model.last_request)[0]["content"] == "🙂" * 2_000


async def test_a_recording_of_it_is_replayed_in_another_run(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await run(store, TEXT, RecordingClient(reading(), path))
    replay = ReplayClient(path)
    await run(store, TEXT, replay)
    replay.assert_exhausted()


# --- the offer -------------------------------------------------------------------------------------------


async def test_reading_is_offered_from_the_first_handle_on_and_behind_what_was_offered(store: Store) -> None:
    model = reading({"limit": 1})
    await run(store, TEXT, model)
    assert offered(model.calls)[:3] == [["give"], ["give", "read_tool_output"], ["give", "read_tool_output"]]


async def test_without_a_handle_there_is_nothing_to_read(store: Store) -> None:
    model = reading({"limit": 1}, handle="res_" + "0" * 24)
    _, (_, read) = await run(store, "small", model)
    assert read.failure is not None
    assert (read.outcome, read.failure.kind) == (ToolOutcome.REFUSED, "unknown_tool")


class NoReading(AllowAll):
    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        del scope, arguments
        return Decision.deny("Not here.") if tool.name == "read_tool_output" else Decision.allow()


async def test_reading_passes_the_policy_like_any_call(store: Store) -> None:
    model = reading({"limit": 1})
    _, (_, read) = await run(store, TEXT, model, policy=NoReading())
    assert read.failure is not None
    assert (read.outcome, read.failure.kind) == (ToolOutcome.REFUSED, "access_denied")


# --- what cannot be read ---------------------------------------------------------------------------------


async def test_a_handle_of_another_run_another_tenant_or_of_nobody_is_refused_alike(store: Store) -> None:
    theirs, (given, *_) = await run(store, TEXT, reading())
    async with at_work(store, reading(), giving(TEXT)):
        foreign = (await dispatch(store, clerk(), Scope(tenant="globex"), input="Hello.")).run_id
        await ended(store, foreign)
    (of_another_tenant,) = await results(store, foreign)
    refusals: set[str] = set()
    for handle in (
        given.result_handle,
        of_another_tenant.result_handle,
        f"{given.call_id}.1",
        "res_" + "f" * 24,
        "../../etc/passwd",
    ):
        _, (_, read) = await run(store, TEXT, reading({"limit": 1}, handle=handle))
        assert read.failure is not None
        assert (read.outcome, read.failure.kind) == (ToolOutcome.REFUSED, "invalid_arguments")
        refusals.add(read.failure.message)
    assert len(refusals) == 1
    assert theirs not in refusals.pop()


@pytest.mark.parametrize(
    "window",
    [
        pytest.param({"offset": -1}, id="a negative offset"),
        pytest.param({"limit": 0}, id="no lines"),
        pytest.param({"limit": 1_001}, id="too many"),
        pytest.param({"pattern": ""}, id="an empty pattern"),
        pytest.param({"pattern": "x" * 1_025}, id="a long one"),
        pytest.param({"regex": True}, id="what it does not take"),
    ],
)
async def test_a_window_out_of_bounds_is_refused(store: Store, window: Mapping[str, Any]) -> None:
    _, (_, read) = await run(store, TEXT, reading(window))
    assert read.failure is not None
    assert (read.outcome, read.failure.kind) == (ToolOutcome.REFUSED, "invalid_arguments")


@pytest.mark.parametrize("size", [100, 400_000])
async def test_a_picture_comes_back_binary(store: Store, size: int) -> None:
    model = reading({"pattern": "x"})
    run_id, (given, read) = await run(store, File("a.png", "image/png", b"\x89PNG" + bytes(size)), model)
    (picture,) = given.attachments
    assert (picture.stored, picture.readable) == ("inline" if size == 100 else "blob", False)
    assert f"it is kept as {picture.handle}" in told(model)[0]
    assert read.result == {
        "handle": picture.handle,
        "binary": True,
        "total_size_bytes": size + 4,
        "total_lines": 0,
        "offset": 0,
        "limit": 200,
        "pattern": "x",
        "total_matches": 0,
        "returned_lines": 0,
        "truncated": False,
        "content": "",
        "matches": [],
    }
    assert (await store.get_run(run_id)).blobs is (size > 100)


async def test_a_document_of_text_is_read_by_its_handle(store: Store) -> None:
    rows = "".join(f"{n};{n * n}\n" for n in range(50_000))
    model = reading({"pattern": ";2500000000"}, {"offset": 49_998})
    _, (given, *_) = await run(store, File("rows.csv", "text/csv", rows.encode()), model)
    assert (given.attachments[0].stored, given.attachments[0].readable) == ("blob", True)
    nothing, last = pages_told(model.last_request)
    assert (nothing["total_matches"], last["content"]) == (0, "49998;2499800004\n49999;2499900001")


async def test_a_blob_that_is_gone_is_an_error_that_says_so(store: Store) -> None:
    blobs = blobs_of(store)
    assert blobs is not None

    async def lose(run_id: RunId) -> None:
        await blobs.delete_run(ACME.tenant, run_id)

    model = reading({"limit": 1})
    async with at_work(store, model, giving(ROWS), runtime={"blobs": Losing(blobs, lose)}):
        run_id = await begun(store, clerk())
        await ended(store, run_id)
    _, read = await results(store, run_id)
    assert read.failure is not None
    assert (read.outcome, read.failure.kind) == (ToolOutcome.ERROR, "blob_missing")
    assert "is gone" in told(model)[1]


class Losing(CountedBlobs):
    """Somebody removes the blobs of a Run before they are read."""

    def __init__(self, blobs: BlobStore, lose: Any) -> None:
        super().__init__(blobs)
        self._lose = lose

    async def get(self, key: Any, **told: Any) -> bytes:
        await self._lose(key.run_id)
        return await super().get(key, **told)


class Exchanging(CountedBlobs):
    """Somebody puts other bytes in the place of a blob."""

    async def get(self, key: Any, **told: Any) -> bytes:
        await self._blobs.put(key, b'["not that"]', content_type="application/json")
        return await super().get(key, **told)


async def test_an_exchanged_blob_is_found(store: Store) -> None:
    model = reading({"limit": 1})
    _, (_, read) = await run(store, ROWS, model, blobs=Exchanging(blobs_of(store)))
    assert read.failure is not None
    assert read.failure.kind == "blob_missing"
    assert "not that" not in told(model)[1]


# --- blobs that are away ---------------------------------------------------------------------------------


async def test_without_a_blob_store_a_large_result_is_an_error_that_keeps_its_beginning(store: Store) -> None:
    model = reading()
    run_id, (given,) = await run(WithoutBlobs(store), ROWS, model)
    assert given.failure is not None
    assert (given.outcome, given.failure.kind) == (ToolOutcome.ERROR, "blob_store_required")
    assert (given.result_handle, given.result_blob_key) == (None, None)
    assert (given.preview, given.result_bytes) == (MEGABYTES[:2_000].decode(), len(MEGABYTES))
    assert "The tool did run" in told(model)[0]
    assert not (await store.get_run(run_id)).blobs


@pytest.mark.parametrize(("limit_bytes", "fetched"), [(10_000_000, 1), (1_000_000, 2)])
async def test_what_was_fetched_is_weighed_as_it_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch, limit_bytes: int, fetched: int
) -> None:
    ones = [1] * 200_000
    assert len(encode_json(ones)) < 1_000_000
    monkeypatch.setattr(outputs, "KEPT_BYTES", limit_bytes)
    blobs, model = CountedBlobs(blobs_of(store)), reading({"limit": 1}, {"limit": 1, "offset": 1})
    await run(store, ones, model, blobs=blobs)
    assert blobs.asked == ["put", *["get"] * fetched]


@in_virtual_time
async def test_a_blob_store_that_stays_away_costs_the_result_and_not_the_run() -> None:
    store = InMemoryStore(clock=VirtualClock())
    blobs, model = CountedBlobs(store.blobs), reading()
    blobs.away = lambda: StoreUnavailable("put", "it is away")
    _, (given,) = await run(store, ROWS, model, blobs=blobs)
    assert given.failure is not None
    assert (given.failure.kind, given.failure.transient) == ("blob_store_required", True)
    assert "The tool did run" in told(model)[0]
    assert given.preview == MEGABYTES[:2_000].decode()
    assert 30 <= store.clock.monotonic() < 60
    assert len(blobs.asked) > 10


@in_virtual_time
async def test_a_blob_store_that_comes_back_loses_nothing() -> None:
    store = InMemoryStore(clock=VirtualClock())
    blobs, model = CountedBlobs(store.blobs), reading({"limit": 1})

    def away() -> Exception:
        if store.clock.monotonic() > 5:
            blobs.away = None
        return StoreUnavailable("put", "it is away")

    blobs.away = away
    _, (given, read) = await run(store, ROWS, model, blobs=blobs)
    assert (given.outcome, read.outcome) == ("ok", "ok")


async def test_a_blob_store_that_breaks_costs_the_result_and_not_the_run(store: Store) -> None:
    blobs, model = CountedBlobs(blobs_of(store)), reading()
    blobs.away = lambda: PermissionError("no")
    _, (given,) = await run(store, ROWS, model, blobs=blobs)
    assert given.failure is not None
    assert (given.failure.kind, given.failure.transient) == ("blob_store_required", False)
    assert "could not be kept" in told(model)[0]
    assert blobs.asked == ["put"]


@pytest.mark.parametrize("tenant", ["org/team", "..", "a\\b"])
async def test_a_tenant_of_any_name_keeps_its_large_results(
    store: Store, tmp_path: Path, tenant: str
) -> None:
    rows, scope = ROWS[:2_000], Scope(tenant=tenant)
    for kept in (blobs_of(store), FilesystemBlobStore(tmp_path / "blobs")):
        assert kept is not None
        blobs = SealedBlobs(kept, SealingStandIn())
        async with at_work(store, reading({"limit": 1}), giving(rows), runtime={"blobs": blobs}):
            run_id = (await dispatch(store, clerk(), scope, input="go")).run_id
            await ended(store, run_id)
        given, read = await results(store, run_id)
        assert (given.outcome, read.outcome) == ("ok", "ok")
        ((key, _),) = (await blobs.list(tenant, run_id)).items
        assert await blobs.get(key) == encode_json(rows)
        await purge(store, query=RunQuery(run_ids=frozenset({run_id})), blobs=blobs)
        assert (await kept.list(None)).items == ()


async def test_of_a_sealed_store_what_is_kept_beside_the_log_is_sealed_too(tmp_path: Path) -> None:
    planted = "planted-where-nobody-may-read"
    rows = [*ROWS[:2_000], {"number": 2_000, "text": planted, "even": True}]
    url = f"sqlite:///{tmp_path / 'psych.db'}"
    async with open_store(url, migrate=True, codec=SealingStandIn()) as store:
        model, kept = reading({"pattern": planted}), blobs_of(store)
        run_id, _ = await run(store, rows, model)
        assert pages_told(model.last_request)[0]["total_matches"] == 1
        assert kept is not None
        assert len((await kept.list(ACME.tenant, run_id)).items) == 1
        assert not files_with(planted, tmp_path)
        assert files_with(run_id, tmp_path), "ids stay in clear"


def files_with(text: str, folder: Path) -> list[str]:
    """The files of a folder that hold it."""
    return [path.name for path in folder.iterdir() if text.encode() in path.read_bytes()]
