"""Blobs whose writer dies: the old one is there or the new one, whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from packages.memory.tests.blob_children import KEY, SIZE
from psych_runtime_memory import FilesystemBlobStore
from psych_runtime_memory.files.upload import STALE_SECONDS, UPLOADS

CHILD = Path(__file__).with_name("blob_children.py")


def kill_while_it_writes(root: Path, after: int, spins: int) -> None:
    """Start a writer; end it with SIGKILL a little after it began its blob of that number."""
    child = subprocess.Popen([sys.executable, CHILD, root], stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        for _ in range(after):
            assert child.stdout.readline()
        for _ in range(spins):
            os.stat(root)
        child.kill()
    assert child.returncode == -9


@pytest.mark.parametrize(("after", "spins"), [(2, 0), (3, 1_000), (3, 4_000), (4, 10_000), (2, 20_000)])
async def test_a_writer_that_is_killed_leaves_the_old_blob_or_the_new(
    tmp_path: Path, after: int, spins: int
) -> None:
    kill_while_it_writes(tmp_path, after, spins)
    store = FilesystemBlobStore(tmp_path)
    known = await store.head(KEY)
    assert known is not None
    assert await store.get(KEY) == known.metadata["fill"].encode() * SIZE
    assert (await store.list(None)).items == ((KEY, known),)


async def test_what_a_killed_writer_left_goes_when_it_is_a_day_old(tmp_path: Path) -> None:
    store = FilesystemBlobStore(tmp_path)
    await store.put(KEY, b"old", content_type="text/plain")
    uploads = tmp_path.joinpath(*UPLOADS)
    left, fresh = uploads / "left", uploads / "fresh"
    for path in (left, fresh):
        path.write_bytes(b"half of a bl")
    long_ago = left.stat().st_mtime - STALE_SECONDS - 60
    os.utime(left, (long_ago, long_ago))
    await store.put(KEY, b"new", content_type="text/plain")
    assert list(uploads.iterdir()) == [fresh]


async def test_what_is_on_its_way_is_listed_nowhere(tmp_path: Path) -> None:
    store = FilesystemBlobStore(tmp_path)
    uploads = tmp_path.joinpath(*UPLOADS)
    uploads.mkdir()
    (uploads / "left").write_bytes(b"half of a bl")
    assert (await store.list(None)).items == ()
