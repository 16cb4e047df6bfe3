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
    Lease,
    QueueEnqueued,
    RunId,
    RunNotFound,
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
from psych_runtime.testing import FakeClock, LogBuilder

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


async def port_read(store: Store, run_id: RunId) -> object:
    return await store.read(run_id)


async def port_get_run(store: Store, run_id: RunId) -> object:
    return await store.get_run(run_id)


async def port_append(store: Store, run_id: RunId) -> object:
    entry = LogBuilder(run_id).admitted().enqueued().entries()[1]
    return await store.append(run_id, LogBuilder(run_id).admitted().entries()[0].head, [entry])


async def port_commit(store: Store, run_id: RunId) -> object:
    first, entry = LogBuilder(run_id).admitted().enqueued().entries()
    return await store.commit([Append(run_id, first.head, (entry,))])


async def port_renew(store: Store, run_id: RunId) -> object:
    return await store.renew([lease(run_id)])


async def port_release(store: Store, run_id: RunId) -> None:
    await store.release(lease(run_id))


async def port_changes(store: Store, run_id: RunId) -> object:
    async with store.changes([run_id]) as watch:
        return watch


async def port_follow(store: Store, run_id: RunId) -> object:
    async with store.changes() as watch:
        watch.follow(run_id)
        return await watch.wait(0)


PORT: list[Act] = [
    port_read,
    port_get_run,
    port_append,
    port_commit,
    port_renew,
    port_release,
    port_changes,
    port_follow,
]


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


@pytest.mark.parametrize("act", [*CALLS, *PORT])
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


@pytest.mark.parametrize("act", [*CALLS, *PORT])
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
    for other in (RIVAL, Scope(tenant="acme", principal="bob")):
        with pytest.raises(AccessDenied):
            await dispatch(view, SPEC, other)
        built = LogBuilder("run_other", scope=other, version_hash=VERSION.hash).admitted()
        header = (await store.get_run(dispatched.run_id)).model_copy(update={"scope": other})
        with pytest.raises(AccessDenied):
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
    assert store.calls == {"get_run": 1, "append": 1}


async def test_a_conflict_on_a_scoped_store_is_narrowed_too() -> None:
    view = scoped(CountingStore(), ACME)
    await dispatch(view, SPEC, ACME, input="a", idempotency_key="k")
    with pytest.raises(IdempotencyConflict) as refused:
        await dispatch(view, SPEC, ACME, input="b", idempotency_key="k")
    assert refused.value.field == "input"


async def test_a_scoped_store_claims_nothing_watches_no_queue_and_is_not_migrated() -> None:
    view = scoped(CountingStore(), ACME)
    with pytest.raises(StoreError):
        await view.claim(WorkerId("w"))
    with pytest.raises(StoreError):
        await view.migrate()
    with pytest.raises(StoreError):
        async with view.changes(ready=True):
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
