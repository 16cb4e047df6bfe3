"""Lists: each blob once, of a Run, a tenant or all; and the end of all blobs of a Run."""

from __future__ import annotations

from typing import Any

import pytest
from anyio import create_task_group

from psych_runtime_contract.blob.base import BlobBase, listed, once, put
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata, BlobStore

TENANTS = ("a", "A", "ab", "a.b", "a%", "a/b", "a/run_1", "..", "a\\b")
RUN_IDS = ("run_1", "run_10", "RUN_1")
CALL_IDS = ("call_a.1", "call_a.10", "call_a.1.x")
RUN = RunId("run_1")


async def filled(blobs: BlobStore) -> dict[BlobKey, BlobMetadata]:
    """Blobs whose keys begin alike."""
    keys = [
        BlobKey(tenant, RunId(run_id), call_id)
        for tenant in TENANTS
        for run_id in RUN_IDS
        for call_id in CALL_IDS
    ]
    return {key: await put(blobs, repr(key).encode(), key, of=key.tenant) for key in keys}


class BlobLists(BlobBase):
    """`list` and `delete_run`."""

    @pytest.mark.parametrize("limit", [1, 2, 7, 1_000])
    async def test_each_blob_is_listed_once(self, blobs: BlobStore, limit: int) -> None:
        known = await filled(blobs)
        assert await listed(blobs, limit=limit) == known
        for tenant in (*TENANTS, "b", "%"):
            of_tenant = {key: each for key, each in known.items() if key.tenant == tenant}
            assert await listed(blobs, tenant, limit=limit) == of_tenant

    @pytest.mark.parametrize("limit", [1, 2, 1_000])
    async def test_a_runs_blobs_are_listed_without_its_neighbours(self, blobs: BlobStore, limit: int) -> None:
        known = await filled(blobs)
        for run_id in (*RUN_IDS, "run_", "run_2"):
            of_run = {key: each for key, each in known.items() if (key.tenant, key.run_id) == ("a", run_id)}
            assert await listed(blobs, "a", RunId(run_id), limit) == of_run

    async def test_where_nothing_is_nothing_is_listed(self, blobs: BlobStore) -> None:
        assert await listed(blobs) == {}
        assert await listed(blobs, "a") == {}
        assert await blobs.delete_run("a", RUN) == 0

    async def test_what_stays_is_listed_once_whatever_comes_and_goes_between_pages(
        self, blobs: BlobStore
    ) -> None:
        keys = [BlobKey("a", RUN, f"call.{number:02}") for number in range(12)]
        for key in keys:
            await put(blobs, key=key)
        items: list[tuple[BlobKey, BlobMetadata]] = []
        page = await blobs.list("a", limit=2)
        number = 0
        while True:
            items += page.items
            if page.cursor is None:
                break
            await blobs.delete(page.items[-1][0])
            for run_id in ("run_0", "run_1", "run_2"):
                await put(blobs, key=BlobKey("a", RunId(run_id), f"call.{number:02}.new"))
            number += 1
            assert number < 100
            page = await blobs.list("a", limit=2, cursor=page.cursor)
        assert set(keys) <= once(items).keys()

    @pytest.mark.parametrize(
        "asked",
        [
            pytest.param({"tenant": "a", "limit": 0}, id="a page of none"),
            pytest.param({"tenant": "a", "limit": 1_001}, id="a page too large"),
            pytest.param({"tenant": None, "run_id": RUN}, id="a Run of nobody"),
        ],
    )
    async def test_a_list_out_of_bounds_is_refused(self, blobs: BlobStore, asked: dict[str, Any]) -> None:
        with pytest.raises(ValueError):
            await blobs.list(**asked)

    # --- the end of a Run --------------------------------------------------------------------------------

    async def test_of_a_run_that_is_deleted_no_blob_is_left(self, blobs: BlobStore) -> None:
        known = await filled(blobs)
        assert await blobs.delete_run("a", RUN) == len(CALL_IDS)
        left = {key: each for key, each in known.items() if (key.tenant, key.run_id) != ("a", RUN)}
        assert await listed(blobs) == left
        assert await listed(blobs, "a", RUN) == {}
        assert await blobs.delete_run("a", RUN) == 0

    async def test_many_blobs_of_a_run_go_together(self, blobs: BlobStore) -> None:
        for number in range(130):
            await put(blobs, b"x", BlobKey("a", RUN, f"call_{number:03}.1"))
        assert await blobs.delete_run("a", RUN) == 130
        assert await listed(blobs) == {}

    async def test_deletions_at_once_count_each_blob_once(self, blobs: BlobStore) -> None:
        for number in range(20):
            await put(blobs, b"x", BlobKey("a", RUN, f"call_{number}.1"))
        counts: list[int] = []

        async def delete() -> None:
            counts.append(await blobs.delete_run("a", RUN))

        async with create_task_group() as group:
            for _ in range(3):
                group.start_soon(delete)
        assert sum(counts) == 20
        assert await listed(blobs) == {}
