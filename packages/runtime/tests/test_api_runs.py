"""Which Runs there are, page by page; and which are removed, with all that is theirs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from packages.runtime.tests.api_scenes import ACME, RIVAL, SPEC, STORES, VERSION, CountingStore, opened
from packages.runtime.tests.export_scenes import kept, whole
from psych_runtime import (
    AccessDenied,
    BlobKey,
    Dispatched,
    IdempotencyConflict,
    InMemoryStore,
    Lifecycle,
    RunHeader,
    RunId,
    RunNotFound,
    RunQuery,
    Scope,
    Store,
    TerminalState,
    dispatch,
    purge,
    records,
    runs,
    scoped,
)
from psych_runtime.testing import FakeClock, LogBuilder, StoreProxy
from psych_runtime_memory.blobs import InMemoryBlobStore

DONE = RunQuery(terminals=frozenset({TerminalState.COMPLETED}))


async def ids(store: Store, **given: Any) -> list[RunId]:
    """The ids of all pages."""
    found: list[RunId] = []
    page = await runs(store, **given)
    while True:
        found += [header.run_id for header in page.items]
        if page.cursor is None:
            return found
        page = await runs(store, **given, cursor=page.cursor)


@pytest.mark.parametrize("kind", STORES)
async def test_runs_come_newest_first_in_pages(kind: str, tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(kind, tmp_path, clock) as store:
        made: list[RunId] = []
        for _ in range(7):
            made.append((await dispatch(store, SPEC, ACME)).run_id)
            await clock.advance(1)
        await dispatch(store, SPEC, RIVAL)
        assert await ids(store, scope=ACME, limit=3) == made[::-1]
        assert len(await ids(store, scope=None)) == 8
        assert await ids(store, scope=ACME, query=RunQuery(states=frozenset())) == []


async def test_a_page_ends_where_the_limit_says_whatever_the_query_says() -> None:
    store = InMemoryStore(clock=FakeClock())
    for _ in range(3):
        await dispatch(store, SPEC, ACME)
    first = await runs(store, scope=None, query=RunQuery(limit=1), limit=2)
    assert len(first.items) == 2
    rest = await runs(store, scope=None, query=RunQuery(limit=50), limit=3, cursor=first.cursor)
    assert len(rest.items) == 1


async def test_an_inbox_is_a_page_of_headers_and_one_entry_a_run() -> None:
    store = InMemoryStore(clock=FakeClock())
    log = LogBuilder(version_hash=VERSION.hash, scope=ACME).admitted().attempt().turn().model_started()
    log.model_finished(calls=[("refund", {"amount": 5})]).suspended()
    await kept(store, log)
    await kept(store, whole("run_other"))
    page = await runs(store, scope=ACME, query=RunQuery(lifecycles=frozenset({Lifecycle.WAITING})))
    ((reason, seq),) = page.items[0].waits
    assert reason == "approval"
    (asked,) = await records(store, page.items[0].run_id, after=seq - 1, limit=1)
    assert asked.type == "suspended"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        pytest.param({"limit": 0}, ValueError, id="no page"),
        pytest.param({"limit": 1_001}, ValueError, id="a page over its size"),
        pytest.param({"limit": True}, TypeError, id="a page that is no number"),
        pytest.param({"cursor": "nowhere"}, ValueError, id="a cursor of nothing"),
        pytest.param({"cursor": "x" * 600}, ValueError, id="a long cursor"),
        pytest.param({"cursor": 5}, TypeError, id="a cursor that is no text"),
        pytest.param({"query": {}}, TypeError, id="a query that is none"),
        pytest.param({"query": RunQuery(tenant="rival")}, AccessDenied, id="another tenant's"),
    ],
)
async def test_what_is_no_page_of_runs_is_refused(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        await runs(InMemoryStore(), scope=ACME, **given)


async def test_a_cursor_of_another_query_is_refused() -> None:
    store = InMemoryStore(clock=FakeClock())
    for _ in range(3):
        await dispatch(store, SPEC, ACME)
    page = await runs(store, scope=ACME, limit=1)
    with pytest.raises(ValueError, match="cursor"):
        await runs(store, scope=None, limit=1, cursor=page.cursor)


# --- purge ---------------------------------------------------------------------------------------------


def child(run_id: str, root: RunHeader) -> tuple[LogBuilder, dict[str, Any]]:
    """A settled Run below another."""
    log = LogBuilder(run_id, scope=root.scope, version_hash=VERSION.hash)
    log.admitted(root_run_id=root.run_id).attempt().turn().model_started().model_finished("Well.").settled()
    return log, {
        "root_run_id": root.run_id,
        "parent_run_id": root.run_id,
        "delegation_depth": 1,
        "created_at": root.created_at,
    }


async def tree(store: Store, number: int, children: int = 1) -> list[RunId]:
    root = await kept(store, whole(f"run_{number:03}"))
    for each in range(children):
        log, fields = child(f"run_{number:03}_{each}", root)
        await kept(store, log, **fields)
    return [root.run_id, *(RunId(f"{root.run_id}_{each}") for each in range(children))]


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("with_blobs", [False, True])
async def test_purge_goes_on_until_nothing_matches(kind: str, with_blobs: bool, tmp_path: Path) -> None:
    blobs = InMemoryBlobStore() if with_blobs else None
    async with opened(kind, tmp_path, FakeClock()) as store:
        made = [run_id for number in range(200) for run_id in await tree(store, number)]
        for run_id in made if blobs else []:
            assert blobs
            await blobs.put(BlobKey("acme", run_id, "call_1.1"), b"x", content_type="text/plain")
        waiting = (await dispatch(store, SPEC, ACME)).run_id
        theirs = await kept(store, whole("run_theirs", RIVAL))
        assert await purge(store, query=DONE, blobs=blobs, scope=ACME) == len(made) == 400
        assert set(await ids(store, scope=None)) == {waiting, theirs.run_id}
        for run_id in (made[0], made[-1]):
            with pytest.raises(RunNotFound):
                await store.read(run_id)
        assert not blobs or not (await blobs.list(None)).items
        assert (await store.get_version(VERSION.hash)).hash == VERSION.hash
        assert await purge(store, query=DONE, blobs=blobs, scope=ACME) == 0


async def test_a_tree_that_is_not_over_stays() -> None:
    store, blobs = InMemoryStore(clock=FakeClock()), InMemoryBlobStore()
    root = await kept(store, whole("run_a"))
    open_child = LogBuilder("run_a_0", scope=ACME, version_hash=VERSION.hash).admitted().attempt()
    await kept(store, open_child, root_run_id=root.run_id, parent_run_id=root.run_id, delegation_depth=1)
    await blobs.put(BlobKey("acme", root.run_id, "call_1.1"), b"x", content_type="text/plain")
    assert await purge(store, query=RunQuery(tenant="acme"), blobs=blobs) == 0
    assert len(await ids(store, scope=ACME)) == 2
    assert len((await blobs.list(None)).items) == 1


@pytest.mark.parametrize("below", [False, True])
async def test_blobs_without_their_store_are_refused_before_anything_is_removed(below: bool) -> None:
    store = InMemoryStore(clock=FakeClock())
    for number in range(60):
        await tree(store, number)
    root = await kept(store, whole("run_holder"), blobs=not below)
    log, fields = child("run_holder_0", root)
    await kept(store, log, **fields, blobs=below)
    with pytest.raises(ValueError, match="run_holder"):
        await purge(store, query=DONE)
    with pytest.raises(ValueError, match="run_holder"):
        await purge(store, query=RunQuery(run_ids=frozenset({root.run_id})))
    assert len(await ids(store, scope=ACME)) == 122
    others = frozenset(RunId(f"run_{number:03}") for number in range(60))
    assert await purge(store, query=RunQuery(run_ids=others)) == 120
    assert await purge(store, query=DONE, blobs=InMemoryBlobStore()) == 2


@pytest.mark.parametrize("kind", STORES)
async def test_a_child_that_came_alone_is_purged_with_its_blobs(kind: str, tmp_path: Path) -> None:
    other, blobs = InMemoryStore(), InMemoryBlobStore()
    root = await kept(other, whole("run_root"))
    async with opened(kind, tmp_path, FakeClock()) as store:
        for number in range(2):
            log, fields = child(f"run_{number}", root)
            await kept(store, log, **fields, blobs=bool(number))
            await blobs.put(BlobKey("acme", log.run_id, "call_1.1"), b"x", content_type="text/plain")
        first, second = (RunQuery(run_ids=frozenset({RunId(f"run_{number}")})) for number in range(2))
        for query in (first, DONE):
            with pytest.raises(ValueError, match="run_0 holds blobs"):
                await purge(store, query=query)
        assert await purge(store, query=second) == 0
        assert await purge(store, query=first, blobs=blobs) == 2
        assert not await ids(store, scope=None)
        assert not (await blobs.list(None)).items


async def test_another_tenants_blobs_are_in_nobodys_way() -> None:
    store = InMemoryStore(clock=FakeClock())
    await kept(store, whole("run_mine"))
    await kept(store, whole("run_theirs", RIVAL), blobs=True)
    assert await purge(store, query=DONE, scope=ACME) == 1
    assert await ids(store, scope=None) == ["run_theirs"]


async def test_a_cut_between_blobs_and_run_leaves_what_is_purged_again() -> None:
    class Dying(StoreProxy):
        async def purge(self, query: RunQuery, *, dry_run: bool = False) -> tuple[RunHeader, ...]:
            if not dry_run:
                raise ConnectionError("cut")
            return await super().purge(query, dry_run=True)

    store, blobs = InMemoryStore(clock=FakeClock()), InMemoryBlobStore()
    await kept(store, whole(), blobs=True)
    await blobs.put(BlobKey("acme", RunId("run_test"), "call_1.1"), b"x", content_type="text/plain")
    with pytest.raises(ConnectionError):
        await purge(Dying(store), query=DONE, blobs=blobs)
    assert not (await blobs.list(None)).items
    assert await purge(store, query=DONE, blobs=blobs) == 1


async def test_nobody_purges_everything_by_leaving_something_out() -> None:
    store = CountingStore()
    await kept(store, whole())
    ways: list[dict[str, Any]] = [{}, {"scope": ACME}, {"blobs": InMemoryBlobStore()}]
    for given in ways:
        with pytest.raises(ValueError, match="conditions"):
            await purge(store, query=RunQuery(limit=5), **given)
    with pytest.raises(ValueError, match="conditions"):
        await purge(scoped(store, ACME), query=RunQuery())
    assert len(await ids(store, scope=None)) == 1


def by_scope(store: Store, scope: Scope) -> tuple[Store, dict[str, Any]]:
    return store, {"scope": scope}


def by_view(store: Store, scope: Scope) -> tuple[Store, dict[str, Any]]:
    return scoped(store, scope), {}


@pytest.mark.parametrize("way", [by_scope, by_view])
async def test_one_tenant_never_purges_anothers_runs(way: Callable[..., Any]) -> None:
    under = InMemoryStore(clock=FakeClock())
    await kept(under, whole())
    store, given = way(under, RIVAL)
    assert await purge(store, query=DONE, **given) == 0
    assert await purge(store, query=RunQuery(run_ids=frozenset({RunId("run_test")})), **given) == 0
    with pytest.raises(AccessDenied):
        await purge(store, query=RunQuery(tenant="acme"), **given)
    assert await ids(under, scope=ACME) == ["run_test"]


async def purged(store: Store) -> None:
    assert await purge(store, query=DONE) == 1


async def erased(store: Store) -> None:
    assert await store.erase(DONE) == 1


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("gone", [purged, erased])
async def test_a_key_answers_as_before_on_the_day_after(
    kind: str, gone: Callable[[Store], Awaitable[None]], tmp_path: Path
) -> None:
    scratch, clock = InMemoryStore(), FakeClock()
    order: dict[str, Any] = {"idempotency_key": "order-1", "input": "hello"}
    request = (await scratch.get_run((await dispatch(scratch, SPEC, ACME, **order)).run_id)).request
    async with opened(kind, tmp_path, clock) as store:
        await kept(store, whole(), idempotency_key="order-1", request=request)
        await gone(store)
        await clock.advance(86_400)
        assert await dispatch(store, SPEC, ACME, **order) == Dispatched(RunId("run_test"), created=False)
        with pytest.raises(IdempotencyConflict) as refused:
            await dispatch(store, SPEC, ACME, idempotency_key="order-1", input="other")
        assert refused.value.run_id == "run_test"
        await clock.advance(30 * 86_400)
        assert (await dispatch(store, SPEC, ACME, **order)).created
