"""Logs: gapless, forked by nobody, given back byte for byte."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import RUN, START, WORKER, admit, append, appending, batch, entry
from psych_runtime_core.errors import EntryTooLarge, RunNotFound, SeqConflict
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.checks import MAX_PAGE_BYTES, SEAL_BYTES
from psych_runtime_core.ports.runs import Lease, RunHeader
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Append
from psych_runtime_core.records import GENESIS, MAX_BODY_BYTES, Entry, Head
from psych_runtime_core.records.record import RECORD_CLASSES

NOBODY = RunId("run_of_nobody")
MIB = 1024 * 1024


def gap(header: RunHeader) -> Append:
    behind = Head(header.head.seq + 1, header.head.digest)
    return Append(header.run_id, header.head, (entry(behind),))


def overwriting(header: RunHeader) -> Append:
    behind = Head(header.head.seq - 1, header.head.digest)
    return Append(header.run_id, header.head, (entry(behind),))


def disorder(header: RunHeader) -> Append:
    return Append(header.run_id, header.head, batch(header.head, b"one", b"two")[::-1])


def twice(header: RunHeader) -> Append:
    return Append(header.run_id, header.head, (entry(header.head), entry(header.head)))


async def gets(store: Store) -> None:
    await store.get_run(NOBODY)


async def reads(store: Store) -> None:
    await store.read(NOBODY)


async def appends(store: Store) -> None:
    await store.append(NOBODY, GENESIS, batch(GENESIS, b"more"))


async def releases(store: Store) -> None:
    await store.release(Lease(NOBODY, WORKER, 1, START + timedelta(seconds=30)))


class StoreLog(StoreBase):
    """One Run's entries."""

    @pytest.mark.parametrize("malformed", [gap, overwriting, disorder, twice])
    async def test_seqs_that_do_not_follow_are_refused(
        self, store: Store, malformed: Callable[[RunHeader], Append]
    ) -> None:
        header = await append(store, (await admit(store)).run_id)
        with pytest.raises(ValueError, match="seq"):
            await store.commit([malformed(header)])
        assert await store.get_run(RUN) == header

    async def test_a_writer_that_knows_another_log_of_the_same_length_is_refused(self, store: Store) -> None:
        header = await append(store, (await admit(store)).run_id)
        forked = header.model_copy(update={"head": Head(header.head.seq, b"\xff" * 32)})
        with pytest.raises(SeqConflict) as caught:
            await store.commit([appending(forked)])
        assert caught.value.head == header.head

    async def test_of_two_racing_appends_one_wins_and_the_other_learns_the_head(self, store: Store) -> None:
        await admit(store)
        for number in range(20):
            header = await store.get_run(RUN)
            told: list[object] = []

            async def compete(body: bytes, header: RunHeader = header, told: list[object] = told) -> None:
                try:
                    await store.commit([appending(header, body)])
                except SeqConflict as conflict:
                    told.append(conflict.head)

            async with create_task_group() as group:
                group.start_soon(compete, b"one")
                group.start_soon(compete, b"two")
            after = await store.get_run(RUN)
            assert told == [after.head]
            assert after.head.seq == number + 2

    async def test_the_last_batch_is_repeated_without_effect(self, store: Store) -> None:
        header = await admit(store)
        entries = batch(header.head, b"one", b"two")
        first = await store.append(RUN, header.head, entries)
        assert await store.append(RUN, header.head, entries) == first
        assert await store.read(RUN, 1) == entries

    async def test_a_changed_batch_conflicts_with_the_one_that_landed(self, store: Store) -> None:
        header = await admit(store)
        await store.append(RUN, header.head, batch(header.head, b"one", b"two"))
        with pytest.raises(SeqConflict):
            await store.append(RUN, header.head, batch(header.head, b"one", b"changed"))
        with pytest.raises(SeqConflict):
            await store.append(RUN, header.head, batch(header.head, b"one"))

    @pytest.mark.parametrize(
        ("after", "limit", "seqs"),
        [
            (0, 1000, [1, 2, 3, 4, 5]),
            (0, 1, [1]),
            (2, 2, [3, 4]),
            (4, 1000, [5]),
            (5, 1000, []),
            (2**32, 1000, []),
            (2**63 - 1, 1000, []),
        ],
    )
    async def test_a_page_holds_what_comes_after_a_seq(
        self, store: Store, after: int, limit: int, seqs: list[int]
    ) -> None:
        await admit(store, bodies=[b"1", b"2", b"3", b"4", b"5"])
        assert [each.seq for each in await store.read(RUN, after, limit)] == seqs

    @pytest.mark.parametrize(("after", "limit"), [(-1, 10), (0, 0), (0, 10_001)])
    async def test_a_page_of_a_log_out_of_bounds_is_refused(
        self, store: Store, after: int, limit: int
    ) -> None:
        await admit(store)
        with pytest.raises(ValueError, match=r"10000|0 or more"):
            await store.read(RUN, after, limit)

    async def test_ten_thousand_entries_are_neither_dropped_nor_repeated(self, store: Store) -> None:
        header = await admit(store)
        await append(store, RUN, *(b"%d" % number for number in range(10_001)))
        read = [*await store.read(RUN, 0, 10_000), *await store.read(RUN, 10_000, 10_000)]
        assert [each.seq for each in read] == list(range(1, 10_003))
        assert read[0].head == header.head

    async def test_a_page_stays_small_though_its_bodies_are_large(self, store: Store) -> None:
        await admit(store)
        await append(store, RUN, *[b"x" * (3 * MIB)] * 4)
        seqs: list[int] = []
        while page := await store.read(RUN, seqs[-1] if seqs else 0):
            assert len(page) == 1 or sum(len(each.body) for each in page) <= MAX_PAGE_BYTES
            seqs += [each.seq for each in page]
        assert seqs == [1, 2, 3, 4, 5]

    async def test_one_entry_comes_though_it_fills_a_page(self, store: Store) -> None:
        await admit(store)
        await append(store, RUN, b"x" * MAX_BODY_BYTES, b"y" * MAX_BODY_BYTES, b"z" * MAX_BODY_BYTES)
        assert (await store.read(RUN, 1))[0].seq == 2

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(bytes(range(256)) * 2, id="every byte"),
            pytest.param(b"", id="empty"),
            pytest.param(b"\0", id="NUL"),
            pytest.param(
                "e\N{COMBINING ACUTE ACCENT} \N{LATIN SMALL LETTER E WITH ACUTE}".encode(),
                id="two spellings of a letter",
            ),
            pytest.param(b'{"b": 1.0, "a": 1e0}', id="JSON in no canonical form"),
            pytest.param(b"x" * (MAX_BODY_BYTES + SEAL_BYTES), id="the largest"),
        ],
    )
    async def test_a_body_comes_back_byte_for_byte(self, store: Store, second: Store, body: bytes) -> None:
        await admit(store)
        await append(store, RUN, body)
        assert [each.body for each in await second.read(RUN, 1)] == [body]

    async def test_an_entry_comes_back_as_it_was_written(self, store: Store, second: Store) -> None:
        header = await admit(store)
        at = datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
        written = Entry(2, "model_call_finished", at, 0, b"body", b"\0\xff" * 16)
        await store.append(RUN, header.head, [written])
        assert await second.read(RUN, 1) == (written,)

    async def test_a_record_of_every_type_comes_back(self, store: Store, second: Store) -> None:
        header = await admit(store)
        written = [entry(header.head)]
        for kind in sorted(RECORD_CLASSES.keys() - {"run_settled"}):
            written.append(entry(written[-1].head, kind.encode(), kind=kind))
        await store.append(RUN, header.head, written)
        assert await second.read(RUN, 1) == tuple(written)

    async def test_a_body_over_its_limit_is_refused(self, store: Store) -> None:
        header = await admit(store)
        with pytest.raises(EntryTooLarge):
            await append(store, RUN, b"x" * (MAX_BODY_BYTES + SEAL_BYTES + 1))
        assert await store.get_run(RUN) == header

    async def test_a_commit_over_its_limit_is_refused(self, store: Store) -> None:
        header = await admit(store)
        with pytest.raises(EntryTooLarge):
            await append(store, RUN, *[b"x" * (MAX_BODY_BYTES + SEAL_BYTES)] * 5)
        assert await store.get_run(RUN) == header

    @pytest.mark.parametrize("operation", [gets, reads, appends, releases])
    async def test_a_run_that_is_not_there_is_named(
        self, store: Store, operation: Callable[[Store], Awaitable[object]]
    ) -> None:
        with pytest.raises(RunNotFound) as caught:
            await operation(store)
        assert caught.value.run_id == NOBODY

    async def test_a_naive_instant_is_refused(self, store: Store) -> None:
        header = await admit(store)
        naive = replace(entry(header.head), at=START.replace(tzinfo=None))
        with pytest.raises(ValueError, match="timezone"):
            await store.append(RUN, header.head, [naive])
