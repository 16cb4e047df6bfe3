"""One tenant never reaches another's Runs: by the `scope` of a call, or on a store that is scoped."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from packages.runtime.tests.api_scenes import (
    ACME,
    RIVAL,
    RUN,
    SPEC,
    VERSION,
    CountingStore,
    asking,
    of_type,
    queued,
    stored,
)
from psych_runtime import (
    AccessDenied,
    Admit,
    Answer,
    Append,
    IdempotencyConflict,
    KeyValue,
    KvKey,
    Lease,
    LiveChannel,
    LiveChunk,
    QueueEnqueued,
    RunId,
    RunNotFound,
    RunQuery,
    RunState,
    Scope,
    Store,
    StoreError,
    WorkerId,
    answer,
    approve,
    deny,
    dispatch,
    interrupt,
    publish,
    records,
    report,
    resume,
    resume_all,
    scoped,
    send,
    state,
    status,
    stream,
    thread,
    verify,
)
from psych_runtime.testing import FakeClock, LogBuilder, StoreProxy

Act = Callable[..., Awaitable[object]]


async def first_of_stream(store: Store, run_id: RunId, **given: Any) -> object:
    return await anext(stream(store, run_id, **given))


async def send_it(store: Store, run_id: RunId, **given: Any) -> object:
    return await send(store, run_id, message="hello", **given)


async def send_by_key(store: Store, run_id: RunId, **given: Any) -> object:
    return await send(store, run_id, message="hello", key="k", **given)


async def resume_it(store: Store, run_id: RunId, **given: Any) -> None:
    await resume(store, run_id, approved=True, **given)


async def resume_them(store: Store, run_id: RunId, **given: Any) -> None:
    await resume_all(store, run_id, {"wait": Answer(approved=True)}, **given)


CALLS: list[Act] = [
    records,
    first_of_stream,
    state,
    status,
    answer,
    thread,
    report,
    verify,
    send_it,
    send_by_key,
    interrupt,
    approve,
    deny,
    resume_it,
    resume_them,
]


# Every port method, asked for another tenant's things. What names a Run is refused by its id.
Ask = Callable[[Store, RunId], Awaitable[object]]
ACMES = RunQuery(tenant="acme")
KEY = KvKey("acme", "space", "name")


async def watched(store: Store, run_id: RunId) -> object:
    async with store.changes([run_id]) as watch:
        return watch


async def followed(store: Store, run_id: RunId) -> object:
    async with store.changes() as watch:
        watch.follow(run_id)
        return await watch.wait(0)


async def live_text(store: Store, run_id: RunId) -> object:
    async with store.live.follow(run_id) as chunks:
        return chunks


def appended(run_id: RunId) -> Append:
    first, entry = LogBuilder(run_id).admitted().enqueued().entries()
    return Append(run_id, first.head, (entry,))


def chunk(run_id: RunId) -> LiveChunk:
    return LiveChunk(run_id, "", 3, 1, False, 0, 2, b"hi")


def values(store: Store) -> KeyValue:
    assert store.kv is not None
    return store.kv


BY_RUN: dict[str, Ask] = {
    "read": lambda store, run_id: store.read(run_id),
    "get_run": lambda store, run_id: store.get_run(run_id),
    "append": lambda store, run_id: store.append(run_id, appended(run_id).after, appended(run_id).entries),
    "commit": lambda store, run_id: store.commit([appended(run_id)]),
    "renew": lambda store, run_id: store.renew([lease(run_id)]),
    "release": lambda store, run_id: store.release(lease(run_id)),
    "changes": watched,
    "changes.follow": followed,
    "live.publish": lambda store, run_id: store.live.publish([chunk(run_id)]),
    "live.follow": live_text,
    "live.clear": lambda store, run_id: store.live.clear(run_id),
}
BY_TENANT: dict[str, Ask] = {
    "admit": lambda store, run_id: store.admit(theirs(run_id).header(), theirs(run_id).entries()),
    "find_runs": lambda store, _: store.find_runs(ACMES),
    "purge": lambda store, _: store.purge(ACMES),
    "erase": lambda store, _: store.erase(ACMES),
    "stats": lambda store, _: store.stats(tenant="acme"),
    "kv.get": lambda store, _: values(store).get(KEY),
    "kv.put": lambda store, _: values(store).put(KEY, b"mine"),
    "kv.delete": lambda store, _: values(store).delete(KEY),
    "kv.list": lambda store, _: values(store).list("acme", "space"),
    "kv.clear": lambda store, _: values(store).clear("acme", "space"),
}
# For nobody, or for everybody: neither reaches what is a tenant's.
REFUSED: dict[str, Ask] = {
    "claim": lambda store, _: store.claim(WorkerId("w")),
    "migrate": lambda store, _: store.migrate(),
}
OPEN = {"codec", "clock", "put_version", "get_version", "check", "close"}
# What a scoped store does without.
NONE = {"blobs"}


def theirs(run_id: RunId) -> LogBuilder:
    return LogBuilder(run_id, scope=ACME, version_hash=VERSION.hash).admitted()


def members(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_a_scoped_store_has_no_blobs() -> None:
    store = CountingStore()
    assert store.blobs is not None
    assert {name for name in NONE if getattr(scoped(store, ACME), name) is not None} == set()


def test_every_port_method_is_asked() -> None:
    asked = {*BY_RUN, *BY_TENANT, *REFUSED}
    assert members(Store) == {name.partition(".")[0] for name in asked} | OPEN | NONE
    assert members(KeyValue) == {name[3:] for name in asked if name.startswith("kv.")}
    assert members(LiveChannel) == {name[5:] for name in asked if name.startswith("live.")}


@pytest.mark.parametrize("name", BY_TENANT)
async def test_a_scoped_store_refuses_what_is_another_tenants(name: str) -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    await store.kv.put(KEY, b"theirs")
    store.calls.clear()
    with pytest.raises(AccessDenied) as denied:
        await BY_TENANT[name](scoped(store, RIVAL), RunId("run_new"))
    assert "acme" not in str(denied.value)
    assert not store.calls
    found = await store.kv.get(KEY)
    assert found is not None
    assert found.value == b"theirs"
    assert not (await store.get_run(RUN)).erased


@pytest.mark.parametrize("name", REFUSED)
async def test_a_scoped_store_claims_nothing_and_is_not_migrated(name: str) -> None:
    with pytest.raises(StoreError, match="scoped"):
        await REFUSED[name](scoped(CountingStore(), ACME), RUN)


async def test_a_scoped_store_finds_counts_and_removes_its_tenants_runs_alone() -> None:
    store = CountingStore()
    mine = (await dispatch(store, SPEC, ACME)).run_id
    await dispatch(store, SPEC, RIVAL)
    for scope in (ACME, RIVAL):
        run = LogBuilder(f"run_{scope.tenant}", scope=scope, version_hash=VERSION.hash).admitted()
        await run.attempt().abort().settled().store(store)
    view, settled = scoped(store, ACME), RunQuery(states=frozenset({RunState.SETTLED}))
    assert {header.run_id for header in (await view.find_runs(RunQuery())).items} == {mine, "run_acme"}
    assert {header.run_id for header in (await view.find_runs(ACMES)).items} == {mine, "run_acme"}
    stats = await view.stats()
    assert (stats.ready, [each.tenant for each in stats.tenants]) == (1, ["acme"])
    assert await view.erase(settled) == 1
    assert not (await store.get_run(RunId("run_rival"))).erased
    assert [header.run_id for header in await view.purge(settled)] == ["run_acme"]
    assert (await store.get_run(RunId("run_rival"))).terminal is not None


async def test_a_page_of_a_scoped_store_goes_on_where_it_ended() -> None:
    store = CountingStore()
    made = {(await dispatch(store, SPEC, ACME)).run_id for _ in range(3)}
    view, query = scoped(store, ACME), RunQuery(limit=2)
    first = await view.find_runs(query)
    rest = await view.find_runs(query, first.cursor)
    assert {header.run_id for header in (*first.items, *rest.items)} == made


@pytest.mark.parametrize("act", ["purge", "erase"])
async def test_a_scoped_store_removes_nothing_by_leaving_something_out(act: str) -> None:
    with pytest.raises(ValueError, match="conditions"):
        await getattr(scoped(CountingStore(), ACME), act)(RunQuery())


async def test_a_scoped_store_has_its_tenants_values_and_live_text() -> None:
    store = CountingStore()
    run_id = await queued(store)
    view = scoped(store, ACME)
    put = await values(view).put(KEY, b"mine")
    assert put is not None
    assert await values(view).get(KEY) == put
    assert (await values(view).list("acme", "space")).items == (put,)
    assert not await values(view).delete(KEY, expect=put.revision + 1)
    assert await values(view).clear("acme", "space") == 1
    await view.live.publish([chunk(run_id)])
    async with view.live.follow(run_id) as chunks:
        assert await anext(chunks) == chunk(run_id)
    await view.live.clear(run_id)


async def test_a_store_without_values_has_none_when_it_is_scoped() -> None:
    class Bare(StoreProxy):
        @property
        def kv(self) -> None:
            return None

    assert scoped(Bare(CountingStore()), ACME).kv is None


NAMED = [*(act.__name__ for act in CALLS), *BY_RUN]


def lease(run_id: RunId) -> Lease:
    return Lease(run_id, WorkerId("worker-1"), 1, FakeClock().now())


async def refused(act: Act, store: CountingStore, *args: Any, **given: Any) -> None:
    """`act` is refused before a log is read or written, and without naming whose Run it is."""
    store.calls.clear()
    with pytest.raises(AccessDenied) as denied:
        await act(*args, **given)
    assert denied.value.subject == f"run {RUN}"
    assert "acme" not in str(denied.value)
    assert set(store.calls) <= {"get_run"}


@pytest.mark.parametrize("act", CALLS)
async def test_a_call_refuses_another_tenants_run(act: Act) -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    await refused(act, store, store, RUN, scope=RIVAL)


@pytest.mark.parametrize("act", [*CALLS, *BY_RUN.values()], ids=NAMED)
async def test_a_scoped_store_refuses_another_tenants_run(act: Act) -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    await refused(act, store, scoped(store, RIVAL), RUN)


@pytest.mark.parametrize("act", CALLS)
async def test_a_scoped_store_takes_no_other_scope(act: Act) -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    store.calls.clear()
    for other in (RIVAL, Scope(tenant="acme", principal="bob")):
        with pytest.raises(AccessDenied):
            await act(scoped(store, ACME), RUN, scope=other)
    assert not store.calls


@pytest.mark.parametrize("act", [*CALLS, *BY_RUN.values()], ids=NAMED)
async def test_a_run_that_is_not_there_is_not_found(act: Act) -> None:
    with pytest.raises(RunNotFound):
        await act(scoped(CountingStore(), ACME), RunId("run_nowhere"))


READS: list[Act] = [records, first_of_stream, state, status, answer, thread, report, verify]


@pytest.mark.parametrize("act", [*READS, send_it, interrupt, approve, deny])
@pytest.mark.parametrize("view", [False, True])
async def test_the_tenants_own_run_is_reached(act: Act, view: bool) -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    mine = Scope(tenant="acme", principal="bob")
    if view:
        await act(scoped(store, mine), RUN)
    else:
        await act(store, RUN, scope=mine)


@pytest.mark.parametrize("tenant", ["Acme", "acmé", "acme2"])
async def test_tenants_are_compared_exactly(tenant: str) -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    with pytest.raises(AccessDenied):
        await status(store, RUN, scope=Scope(tenant=tenant))


async def test_a_scoped_store_admits_under_its_own_scope_alone() -> None:
    store = CountingStore()
    view = scoped(store, ACME)
    dispatched = await dispatch(view, SPEC, ACME, input="hello")
    assert (await store.get_run(dispatched.run_id)).scope == ACME
    store.calls.clear()
    for other, part in ((RIVAL, "tenant"), (Scope(tenant="acme", principal="bob"), "principal")):
        with pytest.raises(AccessDenied):
            await dispatch(view, SPEC, other)
        built = LogBuilder("run_other", scope=other, version_hash=VERSION.hash).admitted()
        header = (await store.get_run(dispatched.run_id)).model_copy(update={"scope": other})
        with pytest.raises(AccessDenied, match=f"alone, not with another {part}"):
            await view.admit(header, built.entries())
        with pytest.raises(AccessDenied):
            await view.commit([Admit(header, built.entries())])
    assert not store.calls["admit"]


async def test_who_acts_on_a_scoped_store_is_its_principal() -> None:
    store = CountingStore()
    run_id = await queued(store)
    await send(scoped(store, ACME), run_id, message="hello")
    (entry,) = await of_type(store, "queue_enqueued", run_id)
    assert isinstance(entry, QueueEnqueued)
    assert entry.sent_by == "ada"


async def test_a_scoped_store_costs_no_second_look_at_a_run() -> None:
    store = CountingStore()
    await stored(store, asking("refund"))
    store.calls.clear()
    await send(scoped(store, ACME), RUN, message="hello")
    assert store.calls == {"get_run": 1, "commit": 1}


async def test_a_conflict_on_a_scoped_store_is_narrowed_too() -> None:
    view = scoped(CountingStore(), ACME)
    await dispatch(view, SPEC, ACME, input="a", idempotency_key="k")
    with pytest.raises(IdempotencyConflict) as refused:
        await dispatch(view, SPEC, ACME, input="b", idempotency_key="k")
    assert refused.value.field == "input"


async def test_a_scoped_store_watches_no_queue() -> None:
    with pytest.raises(StoreError, match="make the Runtime with the store itself"):
        async with scoped(CountingStore(), ACME).changes(ready=True):
            pass


async def test_closing_a_scoped_store_leaves_the_store_open() -> None:
    store = CountingStore()
    view = scoped(store, ACME)
    await view.close()
    assert (await publish(view, SPEC)).hash == VERSION.hash
    assert (await view.get_version(VERSION.hash)).spec == SPEC
    assert view.codec is store.codec
    assert view.clock is store.clock


async def test_a_scoped_store_hints_what_it_follows() -> None:
    store = CountingStore()
    run_id = await queued(store)
    async with scoped(store, ACME).changes() as watch:
        watch.follow(run_id)
        watch.saw(run_id, 1)
        await send(store, run_id, message="hello")
        assert (await watch.wait(10)).runs == {run_id}
        watch.unfollow(run_id)


def test_scoping_a_scoped_store_changes_nothing_and_widens_nothing() -> None:
    view = scoped(CountingStore(), ACME)
    assert scoped(view, ACME) is view
    with pytest.raises(AccessDenied):
        scoped(view, RIVAL)
