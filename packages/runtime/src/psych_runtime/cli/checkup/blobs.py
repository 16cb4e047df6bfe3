"""Whether a store holds the blobs of its Runs, and blobs of none."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from psych_runtime.cli.checkup.titles import ok, skip, warn
from psych_runtime.cli.documents import Check
from psych_runtime.cli.headers import each
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobStore, blobs_of
from psych_runtime_core.ports.queries import RunQuery, pages
from psych_runtime_core.ports.store import Store

# So many are named, and the others counted.
NAMED = 3


@dataclass
class Seen:
    """What was looked at in the time that there was, and what of it is amiss."""

    looked_at: int = 0
    amiss: list[str] = field(default_factory=list[str])
    is_whole: bool = False

    @property
    def extent(self) -> str:
        return f"{self.looked_at} looked at{'' if self.is_whole else ' in time, and not the others'}"


def named(run_ids: Sequence[str]) -> str:
    """The first of these, and how many more."""
    more = len(run_ids) - NAMED
    return ", ".join(run_ids[:NAMED]) + (f" and {more} more" if more > 0 else "")


async def blobs_held(store: Store, seconds: float) -> Check:
    """Runs with blobs of which none is here, and erased ones of which one is.

    Blobs may be kept elsewhere: only a Runtime knows where.
    """
    seen, erased, blobs = Seen(), list[str](), blobs_of(store)
    try:
        async with asyncio.timeout(seconds):
            async for header in each(store, RunQuery(blobs=True, limit=1_000)):
                seen.looked_at += 1
                tenant, run_id = header.scope.tenant, header.run_id
                is_held = blobs is not None and bool((await blobs.list(tenant, run_id, limit=1)).items)
                if is_held and header.erased:
                    erased.append(run_id)
                elif not is_held and not header.erased:
                    seen.amiss.append(run_id)
            seen.is_whole = True
    except TimeoutError:
        pass
    if erased:
        told = f"blobs of erased Runs: {named(erased)}; {seen.extent}"
        return warn("store.blobs", told, "store.blobs.delete_run(tenant, run_id) for each")
    if seen.amiss:
        told = f"this store holds no blob of {named(seen.amiss)}; {seen.extent}"
        return warn(
            "store.blobs", told, "blobs= of every Runtime, purge and export, with the store that holds them"
        )
    return ok("store.blobs", f"Runs with blobs: {seen.extent}")


async def leftovers(store: Store, seconds: float) -> Check:
    """Blobs without a Run."""
    seen, blobs = Seen(), blobs_of(store)
    if blobs is None:
        return skip("store.leftovers", "this store keeps no blobs")
    try:
        async with asyncio.timeout(seconds):
            await _look(store, blobs, seen)
    except TimeoutError:
        pass
    if seen.amiss:
        told = f"blobs without a Run: {named(seen.amiss)}; {seen.extent}"
        return warn("store.leftovers", told, "await store.blobs.delete_run(tenant, run_id) for each")
    return ok("store.leftovers", f"blobs: {seen.extent}")


async def _look(store: Store, blobs: BlobStore, seen: Seen) -> None:
    async for page in pages(lambda cursor: blobs.list(None, cursor=cursor, limit=1_000)):
        owners = {key.run_id: key.tenant for key, _ in page.items}
        gone = owners.keys() - await _known(store, owners)
        seen.amiss += sorted(name for run in gone if (name := f"{owners[run]}/{run}") not in seen.amiss)
        seen.looked_at += len(page.items)
    seen.is_whole = True


async def _known(store: Store, run_ids: Collection[RunId]) -> set[RunId]:
    if not run_ids:
        return set()
    return {header.run_id async for header in each(store, RunQuery(run_ids=frozenset(run_ids), limit=1_000))}
