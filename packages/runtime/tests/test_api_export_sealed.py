"""A sealed Run leaves and comes as it is sealed."""

from __future__ import annotations

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.runtime.tests.api_scenes import RUN
from packages.runtime.tests.export_scenes import all_of, kept, whole, with_blobs
from psych_runtime import BlobKey, InMemoryStore, SealedBlobs, export_run, import_run, records


async def test_sealed_bodies_stay_sealed_and_open_with_the_same_codec() -> None:
    first, second = InMemoryStore(codec=SealingCodec()), InMemoryStore(codec=SealingCodec())
    await kept(first, whole())
    exported = await all_of(export_run(first, RUN))
    await import_run(second, exported)
    assert await records(second, RUN) == await records(first, RUN)
    bodies = [entry.body.partition(b"\n")[2] for entry in await second.read(RUN)]
    assert not any(body.startswith(b"{") for body in bodies)


@pytest.mark.parametrize("sealed", [(True, True), (True, False), (False, True)])
async def test_sealed_blobs_go_sealed_whichever_way_they_are_given(sealed: tuple[bool, bool]) -> None:
    first, second, codec = InMemoryStore(), InMemoryStore(), SealingCodec()
    here, there = SealedBlobs(first.blobs, codec), SealedBlobs(second.blobs, codec)
    header = await kept(first, whole())
    key = BlobKey(header.scope.tenant, RUN, "call_1.1")
    await here.put(key, b"said by somebody", content_type="text/plain")
    exported = await all_of(export_run(first, RUN, blobs=here if sealed[0] else first.blobs))
    await import_run(second, exported, blobs=there if sealed[1] else second.blobs)
    assert await second.blobs.get(key) == await first.blobs.get(key) != b"said by somebody"
    assert await there.get(key) == b"said by somebody"
    assert await all_of(export_run(second, RUN, blobs=there)) == exported


async def test_blobs_that_come_in_clear_are_sealed_where_all_are() -> None:
    first, second = InMemoryStore(), InMemoryStore()
    blobs = await with_blobs(await kept(first, whole()), 5)
    sealed = SealedBlobs(second.blobs, SealingCodec())
    await import_run(second, export_run(first, RUN, blobs=blobs), blobs=sealed)
    ((key, _),) = (await blobs.list(None)).items
    assert await sealed.get(key) == await blobs.get(key) != await second.blobs.get(key)
