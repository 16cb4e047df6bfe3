"""Many claimers at once: one holder a Run, and nobody goes away without beside work."""

from __future__ import annotations

from collections import Counter

from anyio import create_task_group

from psych_runtime_contract.store.base import StoreBase
from psych_runtime_contract.store.scenes import RUN, SETTLE, admit, append, claimed_ids, end, rest
from psych_runtime_core.ids import RunId, WorkerId
from psych_runtime_core.ports.runs import NOW
from psych_runtime_core.ports.store import Store


class ClaimRaces(StoreBase):
    """Claims at once."""

    async def compete(self, store: Store, second: Store, claimers: int = 12) -> list[list[str]]:
        """What each of many Workers gets that ask for one Run at once, every other one by `second`."""
        taken: list[list[str]] = []

        async def ask(handle: Store, number: int) -> None:
            taken.append(await claimed_ids(handle, f"worker_{number}"))

        async with create_task_group() as group:
            for number in range(claimers):
                group.start_soon(ask, second if number % 2 else store, number)
        return taken

    async def test_of_twelve_workers_one_gets_the_run(self, store: Store, second: Store) -> None:
        await admit(store)
        assert sorted(await self.compete(store, second)) == [[]] * 11 + [[RUN]]
        assert (await store.get_run(RUN)).epoch == 1

    async def test_no_worker_goes_empty_handed_beside_work(self, store: Store, second: Store) -> None:
        ids = [f"run_{number:02}" for number in range(12)]
        for run_id in ids:
            await admit(store, run_id)
        assert sorted(await self.compete(store, second)) == [[run_id] for run_id in ids]

    async def test_runs_pass_from_worker_to_worker_until_all_are_settled(self, store: Store) -> None:
        for number in range(10):
            await admit(store, f"run_{number}", tenant=f"tenant_{number % 3}")
        held = Counter[str]()
        while claims := (await store.claim(WorkerId("any"), limit=4)).claims:
            for each in claims:
                held[each.header.run_id] += 1
                await end(store, each.lease, SETTLE if held[each.header.run_id] == 3 else rest(NOW))
        assert set(held.values()) == {3}
        assert len(held) == 10

    async def test_claims_and_writes_interleave_as_they_like(self, store: Store, second: Store) -> None:
        ids = [f"run_{number}" for number in range(6)]
        for run_id in ids:
            await admit(store, run_id)

        async def work(handle: Store, name: str) -> None:
            while claims := (await handle.claim(WorkerId(name))).claims:
                await append(handle, claims[0].header.run_id, b"work", lease=claims[0].lease)
                await end(handle, claims[0].lease)

        async with create_task_group() as group:
            group.start_soon(work, store, "one")
            group.start_soon(work, second, "two")
        headers = [await store.get_run(RunId(run_id)) for run_id in ids]
        assert all(header.terminal and header.epoch == 1 for header in headers)
