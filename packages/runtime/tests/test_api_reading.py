"""Records, the stream of them, the views that fold from them, and the proof that nobody changed them."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anyio import create_task_group
from anyio.lowlevel import checkpoint

from packages.runtime.tests.api_scenes import (
    ACME,
    RUN,
    STORES,
    VERSION,
    CountingStore,
    asking,
    log,
    opened,
    queued,
    stored,
)
from psych_runtime import (
    CorruptionReason,
    CorruptLog,
    Entry,
    Lifecycle,
    Record,
    RunHeader,
    RunId,
    RunNotFound,
    Store,
    VersionNotFound,
    answer,
    interrupt,
    records,
    report,
    send,
    state,
    status,
    stream,
    thread,
    verify,
)
from psych_runtime.testing import FakeClock, LogBuilder
from psych_runtime_core.views.answer import answer_of
from psych_runtime_core.views.projection import project
from psych_runtime_core.views.report import report_of
from psych_runtime_core.views.status import status_of
from psych_runtime_core.views.thread import thread_of

DONE = (
    asking("refund")
    .resumed()
    .tool_started()
    .tool_finished(result="paid")
    .enqueued("thanks")
    .turn()
    .consumed()
    .model_started()
    .model_finished("All done.")
    .settled()
)
WHOLE = [record.seq for record in DONE.records]


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    async with opened(request.param, tmp_path, FakeClock()) as store:
        yield store


# --- records -----------------------------------------------------------------------------------------


async def test_records_come_back_as_they_were_written(store: Store) -> None:
    await stored(store, DONE)
    assert list(await records(store, RUN)) == list(DONE.records)


@pytest.mark.parametrize(
    ("after", "limit", "seqs"),
    [
        pytest.param(0, None, WHOLE, id="all"),
        pytest.param(0, 1, WHOLE[:1], id="the first"),
        pytest.param(1, None, WHOLE[1:], id="behind the first"),
        pytest.param(5, 3, WHOLE[5:8], id="some in the middle"),
        pytest.param(len(WHOLE) - 1, 5, WHOLE[-1:], id="the last"),
        pytest.param(len(WHOLE), None, [], id="behind the last"),
        pytest.param(1_000, None, [], id="far behind"),
        pytest.param(0, 5_000, WHOLE, id="more than there are"),
    ],
)
async def test_a_part_of_the_log_is_read(
    store: Store, after: int, limit: int | None, seqs: list[int]
) -> None:
    await stored(store, DONE)
    assert [record.seq for record in await records(store, RUN, after=after, limit=limit)] == seqs


async def test_a_part_costs_no_more_than_itself() -> None:
    store = CountingStore()
    await stored(store, DONE)
    store.entries_read = 0
    await records(store, RUN, after=5, limit=2)
    assert store.entries_read == 3


# --- stream ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", range(len(WHOLE) + 1))
async def test_a_stream_of_a_settled_run_ends(store: Store, after: int) -> None:
    await stored(store, DONE)
    assert [record.seq async for record in stream(store, RUN, after=after)] == WHOLE[after:]


async def test_a_stream_shows_what_comes_once_and_in_order(store: Store) -> None:
    run_id = await queued(store)
    seen: list[Record] = []

    async def watch() -> None:
        async with aclosing(stream(store, run_id)) as news:
            async for record in news:
                seen.append(record)
                if record.type == "abort_requested":
                    break

    async with create_task_group() as group:
        group.start_soon(watch)
        for number in range(5):
            await send(store, run_id, message=f"{number}")
        await interrupt(store, run_id)
    assert [record.seq for record in seen] == [1, 2, 3, 4, 5, 6, 7]


async def test_a_stream_begun_behind_the_log_waits_for_what_follows() -> None:
    store = CountingStore()
    run_id = await queued(store)
    news = stream(store, run_id, after=3)
    found: list[int] = []

    async def first() -> None:
        found.append((await anext(news)).seq)

    async with create_task_group() as group:
        group.start_soon(first)
        for _ in range(4):
            await checkpoint()
            await send(store, run_id, message="more")
    await news.aclose()
    assert found == [4]


async def test_a_stream_reads_nothing_while_nothing_is_appended() -> None:
    clock = FakeClock()
    store = CountingStore(clock)
    run_id = await queued(store)
    news = stream(store, run_id)
    await anext(news)
    seqs: list[int] = []

    async def follow() -> None:
        async for record in news:
            seqs.append(record.seq)

    async with create_task_group() as group:
        group.start_soon(follow)
        await clock.advance(1)
        store.calls.clear()
        await clock.advance(86_400)
        assert not store.calls
        await send(store, run_id, message="news")
        await clock.advance(1)
        assert seqs == [2]
        store.calls.clear()
        await clock.advance(86_400)
        assert not store.calls
        group.cancel_scope.cancel()


async def test_a_stream_that_is_left_is_closed_at_once() -> None:
    store = CountingStore()
    run_id = await queued(store)
    async with aclosing(stream(store, run_id)) as news:
        async for _ in news:
            break
    with pytest.raises(StopAsyncIteration):
        await anext(news)


async def test_a_run_that_is_not_there_is_told_with_the_first_item(store: Store) -> None:
    news = stream(store, "run_nowhere")
    with pytest.raises(RunNotFound):
        await anext(news)


# --- views -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("built", [log(), asking("refund"), DONE], ids=["queued", "waiting", "done"])
async def test_views_are_those_of_the_log(store: Store, built: LogBuilder) -> None:
    await stored(store, built)
    view = project(built.records, run_id=RUN)
    assert await state(store, RUN) == built.state()
    assert await status(store, RUN) == status_of(view)
    assert await answer(store, RUN) == answer_of(view)
    assert await thread(store, RUN) == thread_of([view])
    assert await report(store, RUN) == report_of(view, await store.get_version(VERSION.hash))


async def test_a_report_needs_the_version() -> None:
    store = CountingStore()
    await stored(store, log())
    store._versions.clear()  # pyright: ignore[reportPrivateUsage]  # no public way to lose a Version
    with pytest.raises(VersionNotFound):
        await report(store, RUN)
    assert (await status(store, RUN)).lifecycle is Lifecycle.QUEUED


async def test_polling_costs_the_news() -> None:
    store = CountingStore()
    run_id = await queued(store)
    for number in range(20):
        await send(store, run_id, message=f"{number}")
    view = await state(store, run_id)
    store.calls.clear()
    assert await state(store, run_id, prior=view) is view
    assert store.calls == {"get_run": 1}
    await send(store, run_id, message="news")
    store.entries_read = 0
    assert await state(store, run_id, prior=view) is view
    assert store.entries_read == 2
    assert view == await state(store, run_id)


# --- damage --------------------------------------------------------------------------------------------


class DamagedStore(CountingStore):
    """Serves a log that somebody changed."""

    def __init__(self, *log: Entry) -> None:
        super().__init__(FakeClock())
        self.log = log

    async def read(self, run_id: RunId, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        await super().read(run_id, after, limit)
        return tuple(entry for entry in self.log if entry.seq > after)[:limit]


ENTRIES = DONE.entries()
FORGED = (*ENTRIES[:3], replace(ENTRIES[3], body=ENTRIES[3].body + b" "), *ENTRIES[4:])
HOLED = (*ENTRIES[:3], *ENTRIES[4:])
DAMAGED = [
    pytest.param(FORGED, 4, CorruptionReason.DIGEST_MISMATCH, id="a body was changed"),
    pytest.param(HOLED, 4, CorruptionReason.WRONG_LOG, id="an entry was taken out"),
    pytest.param(
        (*ENTRIES[:3], replace(ENTRIES[3], epoch=9), *ENTRIES[4:]),
        4,
        CorruptionReason.ENVELOPE_MISMATCH,
        id="a column was changed",
    ),
]


async def damaged(entries: tuple[Entry, ...]) -> Store:
    store = DamagedStore(*entries)
    await stored(store, DONE)
    return store


async def read_all(store: Store, after: int = 0) -> list[Record]:
    return [record async for record in stream(store, RUN, after=after)]


@pytest.mark.parametrize(("entries", "seq", "reason"), DAMAGED)
@pytest.mark.parametrize("call", [verify, records, state, status, answer, thread, report])
async def test_damage_is_told_with_its_place(
    call: Any, entries: tuple[Entry, ...], seq: int, reason: CorruptionReason
) -> None:
    store = await damaged(entries)
    with pytest.raises(CorruptLog) as found:
        await call(store, RUN)
    assert (found.value.run_id, found.value.seq, found.value.reason) == (RUN, seq, reason)


@pytest.mark.parametrize("after", [0, 2, 3])
@pytest.mark.parametrize("entries", [FORGED, HOLED], ids=["changed", "missing"])
async def test_a_stream_stops_at_the_damage(after: int, entries: tuple[Entry, ...]) -> None:
    store = await damaged(entries)
    with pytest.raises(CorruptLog) as found:
        await read_all(store, after)
    assert found.value.seq == 4


async def test_a_stream_that_would_begin_at_a_missing_entry_says_so() -> None:
    store = await damaged(HOLED)
    with pytest.raises(CorruptLog) as found:
        await read_all(store, 4)
    assert (found.value.seq, found.value.reason) == (4, CorruptionReason.WRONG_LOG)


@pytest.mark.parametrize(
    ("entries", "seq", "reason"),
    [
        pytest.param(ENTRIES[:-1], len(WHOLE), CorruptionReason.WRONG_LOG, id="the end was cut off"),
        pytest.param((), 1, CorruptionReason.WRONG_LOG, id="all of it was"),
        pytest.param(
            log().abort().entries(), 3, CorruptionReason.WRONG_LOG, id="another log stands in its place"
        ),
    ],
)
async def test_a_log_that_is_not_the_headers_does_not_verify(
    entries: tuple[Entry, ...], seq: int, reason: CorruptionReason
) -> None:
    store = await damaged(entries)
    with pytest.raises(CorruptLog) as found:
        await verify(store, RUN)
    assert (found.value.seq, found.value.reason) == (seq, reason)


async def test_another_last_entry_than_the_headers_does_not_verify() -> None:
    class OtherHeader(CountingStore):
        async def get_run(self, run_id: RunId) -> RunHeader:
            header = await super().get_run(run_id)
            return header.model_copy(update={"head": replace(header.head, digest=bytes(32))})

    store = OtherHeader()
    await stored(store, log())
    with pytest.raises(CorruptLog) as found:
        await verify(store, RUN)
    assert (found.value.seq, found.value.reason) == (1, CorruptionReason.DIGEST_MISMATCH)


async def test_a_sound_log_gives_its_length_and_digest(store: Store) -> None:
    header = await stored(store, DONE)
    verification = await verify(store, RUN, scope=ACME)
    assert (verification.run_id, verification.entries) == (RUN, len(WHOLE))
    assert verification.head_digest == header.head.digest
