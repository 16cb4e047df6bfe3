"""Purges: whole trees that are over, and nothing of them afterwards."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.endings import ACME, MOST_CALLS, child, ids, of, over, store_all, there
from psych_runtime_contract.store.interruptions import cut_short
from psych_runtime_contract.store.scenes import (
    OTHER_RUN,
    RUN,
    START,
    WORKER,
    admission,
    admit,
    append,
    appending,
    claim,
    end,
    everything,
    lapse,
    rest,
)
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit

A_TREE = (over("root"), child("b", "root", "root"), child("a", "b", "root", 2), child("c", "root", "root"))
OPEN_STATES = ("ready", "later", "parked", "running", "expired")


def open_child(run_id: str, parent: str, **also: Any) -> Admit:
    """A Run below a root that waits to be claimed."""
    return admission(run_id, parent_run_id=parent, root_run_id=parent, delegation_depth=1, **also)


async def brought_to(store: Store, time: StoreTime, state: str, run_id: str = RUN, **place: Any) -> None:
    """An open Run."""
    match state:
        case "expired":
            await admit(store, run_id, **place)
            await lapse(store, time)
        case "running":
            await admit(store, run_id, **place)
            await claim(store)
        case "ready":
            await admit(store, run_id, **place)
        case "later":
            await admit(store, run_id, ready_at=time.after(1_000), **place)
        case _:
            await admit(store, run_id, ready_at=None, parked=True, **place)


class Purges(StoreBase):
    """`purge`."""

    # --- nothing is left ---------------------------------------------------------------------------------

    async def test_of_a_purged_run_nothing_is_read_in_any_method(self, store: Store, second: Store) -> None:
        await admit(store)
        await admit(store, OTHER_RUN, ready_at=None)
        taken = await claim(store)
        header = await end(store, taken.lease)
        assert await store.purge(ACME) == (header,)
        for handle in (store, second):
            for call in (
                handle.get_run(RUN),
                handle.read(RUN),
                handle.read(RUN, 1),
                handle.commit([appending(header)]),
                handle.commit([appending(taken.header, lease=taken.lease)]),
                handle.commit([appending(await handle.get_run(OTHER_RUN)), appending(header)]),
            ):
                with pytest.raises(RunNotFound) as caught:
                    await call
                assert caught.value.run_id == RUN
            assert await there(handle) == {OTHER_RUN}
            assert (await handle.claim(WORKER, limit=9)).claims == ()
            (renewed,) = await handle.renew([taken.lease])
            assert renewed.outcome == "lost"
        assert (await store.get_run(OTHER_RUN)).head.seq == 1

    async def test_a_run_may_come_again(self, store: Store) -> None:
        await store_all(store, over(RUN))
        await store.purge(ACME)
        header = await admit(store, RUN, bodies=[b"anew"])
        assert [entry.body for entry in await store.read(RUN)] == [b"anew"]
        assert await store.purge(ACME) == ()
        assert await store.get_run(RUN) == header

    async def test_a_purge_is_repeated_until_nothing_is_left(self, store: Store) -> None:
        for number in range(10):
            root = f"root_{number}"
            await store_all(store, over(root), *[child(f"{root}_{at}", root, root) for at in range(number)])
        gone: list[str] = []
        for _ in range(MOST_CALLS):
            headers = await store.purge(RunQuery(tenant="acme", limit=3))
            if not headers:
                break
            assert sum(header.run_id == header.root_run_id for header in headers) <= 3
            gone += ids(headers)
        assert len(gone) == len(set(gone)) == 10 + 45
        assert await there(store) == set()

    async def test_the_limit_counts_trees(self, store: Store) -> None:
        await store_all(store, *A_TREE, over("z"))
        took = [len(await store.purge(RunQuery(tenant="acme", limit=1))) for _ in range(3)]
        assert sorted(took) == [0, 1, 4]
        assert took[2] == 0

    async def test_a_purge_that_is_cut_anywhere_leaves_whole_runs_and_is_repeated(self, store: Store) -> None:
        # More than one transaction takes away.
        bodies = [bytes(500_000)] * 12
        ended = False
        for wait in range(MOST_CALLS):
            await store_all(store, *A_TREE, over("z"))
            await admit(store, "long", bodies=bodies)
            await end(store, (await claim(store)).lease)
            ended = not await cut_short(store.purge(ACME), wait)
            for run_id in await there(store):
                # What was asked before the cut may still be carried out.
                with suppress(RunNotFound):
                    ((header, log),) = await everything(store, run_id)
                    assert log[-1].head == header.head
            for _ in range(3):
                await store.purge(ACME)
            assert await there(store) == set()
            assert (await store.check()).about("leftovers") == ()
            if ended:
                break
        assert ended

    async def test_purges_at_once_take_each_run_once(self, store: Store, second: Store) -> None:
        await store_all(store, *[over(f"run_{number:02}") for number in range(40)])
        gone: list[str] = []

        async def purge(handle: Store) -> None:
            gone.extend(ids(await handle.purge(ACME)))

        async with create_task_group() as group:
            for handle in (store, second, store, second):
                group.start_soon(purge, handle)
        assert sorted(gone) == [f"run_{number:02}" for number in range(40)]

    # --- what goes ---------------------------------------------------------------------------------------

    async def test_a_tree_goes_whole_children_first_and_the_root_last(self, store: Store) -> None:
        await store_all(store, *A_TREE)
        before = {run_id: (await everything(store, run_id))[0][0] for run_id in ("a", "b", "c", "root")}
        removed = await store.purge(ACME)
        assert {header.run_id: header for header in removed} == before
        gone = ids(removed)
        assert gone[-1] == "root"
        assert gone.index("a") < gone.index("b")

    @pytest.mark.parametrize("state", OPEN_STATES)
    async def test_what_is_not_settled_stays(self, store: Store, time: StoreTime, state: str) -> None:
        await brought_to(store, time, state)
        before = await everything(store, RUN)
        assert await store.purge(ACME) == ()
        assert await everything(store, RUN) == before

    @pytest.mark.parametrize("state", OPEN_STATES)
    @pytest.mark.parametrize("depth", [1, 2])
    async def test_a_tree_with_an_open_run_stays_whole(
        self, store: Store, time: StoreTime, state: str, depth: int
    ) -> None:
        await store_all(store, over("root"), child("b", "root", "root"), over("z"))
        place = {"parent_run_id": "root" if depth == 1 else "b", "root_run_id": "root"}
        await brought_to(store, time, state, "open", delegation_depth=depth, **place)
        assert ids(await store.purge(ACME)) == ["z"]
        assert await there(store) == {"root", "b", "open"}

    async def test_a_child_takes_nobody_with_it(self, store: Store) -> None:
        await store_all(store, *A_TREE)
        assert await store.purge(of("a", "b", "c")) == ()
        assert await store.purge(RunQuery(parent_run_id=RunId("root"))) == ()
        assert len(await there(store)) == 4

    @pytest.mark.parametrize("continued", ["root", "b", "a"])
    async def test_a_tree_that_an_open_run_goes_on_from_stays(self, store: Store, continued: str) -> None:
        await store_all(store, *A_TREE, admission("heir", continues_run_id=continued))
        assert await store.purge(ACME) == ()
        assert len(await there(store)) == 5
        await end(store, (await claim(store)).lease)
        assert {*ids(await store.purge(ACME))} == {"root", "a", "b", "c", "heir"}

    async def test_who_goes_on_from_a_tree_and_is_over_stays_if_it_is_not_meant(self, store: Store) -> None:
        await store_all(store, *A_TREE, over("heir", continues_run_id="root"))
        assert len(await store.purge(of("root"))) == 4
        assert await there(store) == {"heir"}
        assert (await store.get_run(RunId("heir"))).continues_run_id == "root"

    @pytest.mark.parametrize(
        "theirs",
        [
            pytest.param(child("theirs", "root", "root", tenant="globex"), id="a child that is over"),
            pytest.param(open_child("theirs", "root", tenant="globex"), id="an open child"),
            pytest.param(admission("theirs", continues_run_id="root", tenant="globex"), id="an heir"),
        ],
    )
    async def test_a_run_of_another_tenant_is_of_no_tree(self, store: Store, theirs: Admit) -> None:
        await store_all(store, over("root"), theirs)
        assert ids(await store.purge(ACME, dry_run=True)) == ["root"]
        assert ids(await store.purge(of("root"))) == ["root"]
        assert (await store.get_run(theirs.run_id)).root_run_id == theirs.header.root_run_id

    async def test_a_tree_of_another_tenants_name_is_not_meant(self, store: Store) -> None:
        await store_all(store, over(RUN), over(OTHER_RUN, tenant="Acme"))
        assert ids(await store.purge(RunQuery(tenant="Acme"))) == [OTHER_RUN]
        assert await there(store) == {RUN}

    @pytest.mark.parametrize(
        "conditions",
        [
            pytest.param({"tenant": "globex"}, id="another tenant"),
            pytest.param({"settled_before": START}, id="settled before"),
            pytest.param({"name": "other"}, id="another name"),
            pytest.param({"run_ids": frozenset[RunId]()}, id="none of no Runs"),
            pytest.param({"labels": {"team": "support"}}, id="a label"),
        ],
    )
    async def test_what_is_not_meant_stays(self, store: Store, conditions: dict[str, Any]) -> None:
        await store_all(store, *A_TREE)
        assert await store.purge(RunQuery(**conditions)) == ()
        assert len(await there(store)) == 4

    # --- beforehand --------------------------------------------------------------------------------------

    async def test_a_dry_run_tells_what_a_purge_removes_and_removes_nothing(self, store: Store) -> None:
        await store_all(store, *A_TREE, over("y"), over("z"), admission("open", ready_at=None))
        for limit in (1, 2):
            query, stored = RunQuery(tenant="acme", limit=limit), sorted(await there(store))
            before = await everything(store, *stored)
            foretold = await store.purge(query, dry_run=True)
            assert foretold
            assert await everything(store, *stored) == before
            assert await store.purge(query) == foretold
        assert await there(store) == {"open"}

    async def test_a_query_without_conditions_removes_nothing(self, store: Store) -> None:
        await store_all(store, *A_TREE)
        for query in (RunQuery(), RunQuery(limit=1), RunQuery(labels={})):
            for dry_run in (False, True):
                with pytest.raises(ValueError):
                    await store.purge(query, dry_run=dry_run)
            with pytest.raises(ValueError):
                await store.erase(query)
        assert len(await there(store)) == 4

    async def test_who_rests_may_settle_and_then_goes(self, store: Store) -> None:
        await admit(store)
        await append(store, RUN, change=rest(START), lease=(await claim(store)).lease)
        assert await store.purge(ACME) == ()
        await end(store, (await claim(store)).lease)
        assert ids(await store.purge(ACME)) == [RUN]
