"""A built log in a store: the Run that it says, or exactly what is left of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.runtime.tests.api_scenes import ACME, RUN, SPEC, STORES, VERSION, opened
from packages.runtime.tests.export_scenes import whole
from psych_runtime import (
    CorruptLog,
    InMemoryStore,
    RunId,
    RunNotFound,
    RunQuery,
    StoreError,
    TerminalState,
    VersionNotFound,
    WorkerId,
    records,
    report,
    runs,
    send,
    status,
    stream,
    verify,
)
from psych_runtime.testing import HollowStore, LogBuilder, audit


@pytest.mark.parametrize("kind", STORES)
async def test_a_log_is_stored_as_the_run_that_it_says(kind: str, tmp_path: Path) -> None:
    async with opened(kind, tmp_path) as store:
        header = await whole().store(store)
        assert (header.terminal, header.epoch, header.facts.attempt_count) == (TerminalState.COMPLETED, 2, 2)
        assert await store.read(RUN) == whole().entries()
        assert audit(await store.read(RUN), header=header, spec=SPEC) == ()


async def test_a_log_that_nobody_began_can_be_claimed_and_any_other_waits_to_be_woken() -> None:
    store = InMemoryStore()
    await LogBuilder("run_new", version_hash=VERSION.hash).admitted().enqueued().store(store)
    await LogBuilder("run_begun", version_hash=VERSION.hash).admitted().attempt().store(store)
    (claim,) = (await store.claim(WorkerId("w"), limit=5)).claims
    assert claim.lease.run_id == "run_new"
    await send(store, "run_begun", message="hello")
    (claim,) = (await store.claim(WorkerId("w"), limit=5)).claims
    assert (claim.lease.run_id, claim.lease.epoch) == ("run_begun", 2)


async def test_a_log_is_sealed_by_the_codec_of_its_store() -> None:
    store = InMemoryStore(codec=SealingCodec())
    header = await whole().store(store)
    assert header.head != whole().entries()[-1].head
    assert await records(store, RUN) == whole().records


@pytest.mark.parametrize("codec", [None, SealingCodec()])
async def test_a_hollow_store_holds_one_run(codec: SealingCodec | None) -> None:
    store = HollowStore(whole().entries(codec), versions=[VERSION], codec=codec)
    header = await store.get_run(RUN)
    assert (header.terminal, header.scope) == (TerminalState.COMPLETED, ACME)
    assert (await verify(store, RUN)).entries == len(whole().records)
    assert (await report(store, RUN)).spec_name == SPEC.name
    assert (await runs(store, scope=ACME)).items == (header,)
    assert not (await runs(store, scope=None, query=RunQuery(tenant="rival"))).items
    assert [record async for record in stream(store, RUN)] == list(await records(store, RUN))
    with pytest.raises(RunNotFound):
        await status(store, "run_other")


@pytest.mark.parametrize("seq", range(1, len(whole().records) + 1))
async def test_a_hollow_store_says_of_a_log_what_its_builder_says(seq: int) -> None:
    log = whole().truncate(seq)
    assert await HollowStore(log.entries()).get_run(RUN) == log.header(name="hollow")


async def test_a_hollow_store_serves_gaps_as_they_are() -> None:
    left = whole().drop(5).entries()
    store = HollowStore(left, versions=[VERSION])
    assert await store.read(RUN) == left
    assert [entry.seq for entry in await store.read(RUN, 3, 2)] == [4, 6]
    with pytest.raises(CorruptLog) as found:
        await status(store, RUN)
    assert found.value.seq == 5


@pytest.mark.parametrize("broken", [whole().drop(1), whole().swap(1, 2), whole().repeat(3)])
async def test_a_hollow_store_of_a_log_that_does_not_fold_has_a_header_still(broken: LogBuilder) -> None:
    store = HollowStore(broken.entries())
    assert (await store.get_run(RUN)).head == broken.entries()[-1].head
    with pytest.raises(CorruptLog):
        await verify(store, RUN)


async def test_a_hollow_store_of_nothing_holds_no_run() -> None:
    store = HollowStore(())
    assert not (await store.find_runs(RunQuery())).items
    with pytest.raises(RunNotFound):
        await store.get_run(RUN)


async def test_a_hollow_store_is_read_only_and_knows_the_versions_it_was_given() -> None:
    store, first = HollowStore(whole().entries()), whole().entries()[0]
    for write in (
        store.put_version(VERSION),
        store.admit(whole().header(), [first]),
        store.claim(WorkerId("w")),
        store.purge(RunQuery(tenant="acme")),
        store.erase(RunQuery(tenant="acme")),
        store.migrate(),
        send(HollowStore(whole().truncate(3).entries()), RunId(RUN), message="hello"),
    ):
        with pytest.raises(StoreError, match="read only"):
            await write
    with pytest.raises(VersionNotFound):
        await report(store, RUN)
    assert (await store.check()).backend == "memory"
