"""Purges of trees whose root is not stored: what a file brought of one, or what came before it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.endings import ACME, child, ids, of, over, store_all, there
from psych_runtime_contract.store.scenes import START, admission, claim, end
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunState
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Admit

MEANT: dict[str, RunQuery] = {
    "its id": of("b"),
    "its tenant": ACME,
    "its parent": RunQuery(parent_run_id=RunId("root")),
    "its root": RunQuery(root_run_id=RunId("root")),
    "its end": RunQuery(settled_before=START.replace(year=START.year + 1)),
    "its state": RunQuery(states=frozenset({RunState.SETTLED})),
    "its name": RunQuery(name="clerk"),
}
LATER = START + timedelta(seconds=1)
PART = (
    child("a", "b", "root", 2, created_at=LATER),
    child("b", "root", "root"),
    child("c", "root", "root"),
)


class Rootless(StoreBase):
    """`purge` of what is there of a tree."""

    @pytest.mark.parametrize("meant", MEANT)
    async def test_a_child_without_its_root_is_purged_by_whatever_means_it(
        self, store: Store, meant: str
    ) -> None:
        query = MEANT[meant]
        await store_all(store, child("b", "root", "root", name="clerk"))
        assert ids(await store.purge(query, dry_run=True)) == ["b"]
        assert ids(await store.purge(query)) == ["b"]
        assert await there(store) == set()

    async def test_what_is_there_of_a_tree_goes_whole_children_first(self, store: Store) -> None:
        await store_all(store, *PART, over("z"))
        assert ids(await store.purge(of("b"))) == ["a", "c", "b"]
        assert await there(store) == {"z"}

    async def test_the_oldest_and_of_such_the_first_by_id_stands_for_the_tree(self, store: Store) -> None:
        await store_all(store, *PART)
        assert await store.purge(of("a", "c")) == ()
        assert len(await store.purge(of("b", "c", limit=1))) == 3

    async def test_what_stands_for_a_tree_goes_last_however_deep_it_was(self, store: Store) -> None:
        await store_all(store, child("b", "root", "root", created_at=LATER), child("c", "b", "root", 2))
        assert await store.purge(of("b")) == ()
        assert ids(await store.purge(of("c"))) == ["b", "c"]

    async def test_what_is_there_of_a_tree_counts_as_one(self, store: Store) -> None:
        await store_all(store, *PART, child("y", "elsewhere", "elsewhere"))
        took = [len(await store.purge(RunQuery(tenant="acme", limit=1))) for _ in range(3)]
        assert sorted(took) == [0, 1, 3]
        assert took[2] == 0

    @pytest.mark.parametrize(
        "still_open",
        [
            pytest.param({"parent_run_id": "b", "root_run_id": "root", "delegation_depth": 2}, id="below"),
            pytest.param(
                {"parent_run_id": "root", "root_run_id": "root", "delegation_depth": 1}, id="beside"
            ),
            pytest.param({"continues_run_id": "c"}, id="an heir"),
        ],
    )
    async def test_what_is_there_of_a_tree_stays_while_one_of_it_is_open(
        self, store: Store, still_open: dict[str, Any]
    ) -> None:
        await store_all(store, *PART, admission("d", **still_open))
        assert await store.purge(ACME) == ()
        assert len(await there(store)) == 4
        await end(store, (await claim(store)).lease)
        assert {*ids(await store.purge(ACME))} == {"a", "b", "c", "d"}

    async def test_a_root_that_comes_later_takes_its_place(self, store: Store) -> None:
        await store_all(store, *PART)
        await store_all(store, over("root"))
        assert await store.purge(of("a", "b", "c")) == ()
        assert len(await there(store)) == 4
        assert ids(await store.purge(of("root")))[-1] == "root"
        assert await there(store) == set()

    @pytest.mark.parametrize(
        "root",
        [
            pytest.param(over("root", tenant="globex"), id="another tenant's"),
            pytest.param(child("root", "above", "above"), id="one of another tree"),
        ],
    )
    async def test_what_only_has_the_id_of_its_root_is_none(self, store: Store, root: Admit) -> None:
        await store_all(store, *PART, root)
        assert len(await store.purge(of("b"))) == 3
        assert (await store.get_run(RunId("root"))).run_id == "root"
