"""Blobs as files: what stands on the disk, what is followed, what is flushed, what is left."""

import errno
import os
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from anyio import CancelScope, create_task_group, sleep_forever
from anyio.lowlevel import checkpoint

from psych_runtime_core.errors import (
    BlobCorrupt,
    BlobNotFound,
    StoreFull,
    StoreMisconfigured,
    StoreUnavailable,
)
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import BlobKey, BlobMetadata
from psych_runtime_memory import FilesystemBlobStore
from psych_runtime_memory.files.blobs import BlobFiles
from psych_runtime_memory.files.folders import Folders
from psych_runtime_memory.files.upload import UPLOADS

RUN = RunId("run_a")
KEY, OTHER = BlobKey("acme", RUN, "call.1"), BlobKey("acme", RUN, "call.2")
WIDE = "\N{GRINNING FACE}" * 256


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def store(root: Path) -> FilesystemBlobStore:
    return FilesystemBlobStore(root)


async def put(store: FilesystemBlobStore, key: BlobKey = KEY, content: bytes = b"content") -> BlobMetadata:
    return await store.put(key, content, content_type="text/plain", metadata={"name": "π\n\0"})


def file_of(root: Path) -> Path:
    return root / "acme" / "run_a" / "call.1"


def everything(root: Path) -> list[str]:
    """All files and folders but the one of uploads."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path != root.joinpath(*UPLOADS))


# --- where ---------------------------------------------------------------------------------------------


async def test_nothing_is_made_before_the_first_blob(store: FilesystemBlobStore, root: Path) -> None:
    assert await store.head(KEY) is None
    assert (await store.list(None)).items == ()
    assert await store.delete_run("acme", RUN) == 0
    await store.delete(KEY)
    assert everything(root.parent) == []


async def test_a_root_may_lie_deep_and_be_named_by_a_text(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "c"
    await put(FilesystemBlobStore(str(root)))
    assert everything(root) == ["acme", "acme/run_a", "acme/run_a/call.1"]


async def test_a_file_says_what_it_is_and_ends_in_the_content(store: FilesystemBlobStore, root: Path) -> None:
    await put(store, content=b"line\nline\n")
    label, _, content = file_of(root).read_bytes().partition(b"\n")
    assert label.startswith(b'{"blob":{"key":["acme","run_a","call.1"]')
    assert content == b"line\nline\n"


async def test_odd_tenants_keep_apart(store: FilesystemBlobStore, root: Path) -> None:
    tenants = ["A", "a", "a.", "..x", "..", "a/b", "a\\b", "%41", WIDE, WIDE[:-1] + "x"]
    for tenant in tenants:
        await put(store, BlobKey(tenant, RUN, "call.1"), tenant.encode())
    for tenant in tenants:
        assert await store.get(BlobKey(tenant, RUN, "call.1")) == tenant.encode()
        ((key, _),) = (await store.list(tenant)).items
        assert key.tenant == tenant
    folded = {path.casefold().rstrip(".") for path in os.listdir(root)}
    assert len(folded) == len(tenants) + len(UPLOADS)
    for tenant in tenants:
        assert await store.delete_run(tenant, RUN) == 1
    assert everything(root) == []


async def test_folders_go_with_their_last_blob(store: FilesystemBlobStore, root: Path) -> None:
    await put(store)
    await put(store, OTHER)
    await store.delete(KEY)
    assert everything(root) == ["acme", "acme/run_a", "acme/run_a/call.2"]
    await store.delete(OTHER)
    assert everything(root) == []


async def test_a_folder_that_is_removed_while_a_blob_comes_is_made_again(
    store: FilesystemBlobStore, root: Path
) -> None:
    async def come(key: BlobKey) -> None:
        for _ in range(20):
            await put(store, key)
            await store.delete(key)

    async with create_task_group() as group:
        for number in range(4):
            group.start_soon(come, BlobKey("acme", RUN, f"call.{number}"))
    assert everything(root) == []


# --- links ---------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A place out of the root, in which a file stands where the root has a blob."""
    outside = tmp_path / "outside"
    (outside / "run_a").mkdir(parents=True)
    (outside / "run_a" / "call.1").write_bytes(b"a secret")
    return outside


def link_the_tenant(root: Path, outside: Path) -> None:
    root.mkdir()
    (root / "acme").symlink_to(outside)


def link_the_run(root: Path, outside: Path) -> None:
    (root / "acme").mkdir(parents=True)
    (root / "acme" / "run_a").symlink_to(outside / "run_a")


def link_the_file(root: Path, outside: Path) -> None:
    file_of(root).parent.mkdir(parents=True)
    file_of(root).symlink_to(outside / "run_a" / "call.1")


@pytest.mark.parametrize("link", [link_the_tenant, link_the_run, link_the_file])
async def test_no_link_is_followed(
    store: FilesystemBlobStore, root: Path, outside: Path, link: Callable[[Path, Path], None]
) -> None:
    link(root, outside)
    assert await store.head(KEY) is None
    assert (await store.list(None)).items == ()
    with pytest.raises(BlobNotFound):
        await store.get(KEY)
    await store.delete_run("acme", RUN)
    await store.delete(KEY)
    assert (outside / "run_a" / "call.1").read_bytes() == b"a secret"


@pytest.mark.parametrize("link", [link_the_tenant, link_the_run])
async def test_nothing_is_written_through_a_link(
    store: FilesystemBlobStore, root: Path, outside: Path, link: Callable[[Path, Path], None]
) -> None:
    link(root, outside)
    with pytest.raises(StoreMisconfigured, match="no links"):
        await put(store)
    assert os.listdir(outside / "run_a") == ["call.1"]
    assert (outside / "run_a" / "call.1").read_bytes() == b"a secret"
    assert list(root.joinpath(*UPLOADS).iterdir()) == []


async def test_a_blob_takes_the_place_of_a_link(
    store: FilesystemBlobStore, root: Path, outside: Path
) -> None:
    link_the_file(root, outside)
    await put(store)
    assert await store.get(KEY) == b"content"
    assert (outside / "run_a" / "call.1").read_bytes() == b"a secret"


async def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    await put(FilesystemBlobStore(tmp_path / "link"))
    assert await FilesystemBlobStore(tmp_path / "real").get(KEY) == b"content"


# --- damage --------------------------------------------------------------------------------------------


async def test_every_flipped_byte_is_found(store: FilesystemBlobStore, root: Path) -> None:
    await put(store)
    whole, files = file_of(root).read_bytes(), BlobFiles(Folders(str(root)))
    for at in range(len(whole)):
        file_of(root).write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(BlobCorrupt) as caught:
            files.read(KEY, 0, None)
        assert caught.value.key == KEY
    file_of(root).write_bytes(whole)
    assert await store.get(KEY) == b"content"


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
async def test_a_file_that_was_cut_is_found(store: FilesystemBlobStore, root: Path, keep: int) -> None:
    await put(store)
    file_of(root).write_bytes(file_of(root).read_bytes()[:keep])
    for read in (store.get(KEY), store.get(KEY, offset=1, length=1), store.head(KEY)):
        with pytest.raises(BlobCorrupt):
            await read


async def test_a_damaged_file_hides_no_other_and_can_be_deleted(
    store: FilesystemBlobStore, root: Path
) -> None:
    keys = [BlobKey("A/..", RUN, f"call.{number}") for number in range(4)]
    for key in keys:
        await put(store, key)
    label, moved = (root / "%41%2f.%2e" / "run_a" / f"call.{number}" for number in (1, 2))
    label.write_bytes(b"?" + label.read_bytes()[1:])
    moved.with_name("call.3").rename(moved)
    page = await store.list(None, limit=2)
    rest = await store.list("A/..", cursor=page.cursor)
    assert [key for key, _ in (*page.items, *rest.items)] == keys[:3]
    for key in keys[1:3]:
        with pytest.raises(BlobCorrupt):
            await store.get(key)
        await store.delete(key)
    assert [key for key, _ in (await store.list(None)).items] == keys[:1]


async def test_a_damaged_file_whose_name_was_cut_is_passed_over_until_its_run_goes(
    store: FilesystemBlobStore, root: Path
) -> None:
    await put(store)
    await put(store, BlobKey("acme", RUN, "x" * 256))
    (cut,) = (root / "acme" / "run_a").glob("x*~*")
    cut.write_bytes(b"?")
    assert [key for key, _ in (await store.list(None)).items] == [KEY]
    assert await store.delete_run("acme", RUN) == 2


async def test_a_file_that_grew_is_found(store: FilesystemBlobStore, root: Path) -> None:
    await put(store)
    with file_of(root).open("ab") as file:
        file.write(b"more")
    with pytest.raises(BlobCorrupt, match="11 bytes of 7"):
        await store.get(KEY)


async def test_a_file_that_was_moved_is_found(store: FilesystemBlobStore, root: Path) -> None:
    await put(store, OTHER)
    file_of(root).with_name("call.2").rename(file_of(root))
    with pytest.raises(BlobCorrupt, match="in its place"):
        await store.get(KEY)


async def test_a_streaming_reader_learns_of_damage_before_the_last_piece(
    store: FilesystemBlobStore, root: Path
) -> None:
    await put(store)
    whole = file_of(root).read_bytes()
    file_of(root).write_bytes(whole[:-7] + b"C" + whole[-6:])
    pieces: list[bytes] = []
    with pytest.raises(BlobCorrupt, match="digest"):
        pieces.extend([piece async for piece in store.open(KEY, chunk=3)])
    assert b"".join(pieces) != b"Content"


async def test_a_reader_of_a_blob_that_is_replaced_learns_of_it(store: FilesystemBlobStore) -> None:
    await put(store)
    reading = store.open(KEY, chunk=3)
    assert await anext(reading) == b"con"
    await put(store, content=b"another")
    with pytest.raises(BlobCorrupt, match="replaced"):
        await anext(reading)


async def test_a_reader_of_a_blob_that_is_removed_learns_of_it(store: FilesystemBlobStore) -> None:
    await put(store)
    reading = store.open(KEY, chunk=3)
    assert await anext(reading) == b"con"
    await store.delete(KEY)
    with pytest.raises(BlobNotFound):
        await anext(reading)


async def test_a_reader_holds_no_file_between_two_pieces(store: FilesystemBlobStore) -> None:
    await put(store)
    before = os.listdir("/dev/fd")
    reading = store.open(KEY, chunk=3)
    await anext(reading)
    assert len(os.listdir("/dev/fd")) == len(before)
    assert [piece async for piece in reading] == [b"ten", b"t"]


# --- what fails ----------------------------------------------------------------------------------------


async def hang(begun: Callable[[], object]) -> AsyncIterator[bytes]:
    yield b"x" * 300_000
    begun()
    await sleep_forever()


async def test_a_put_that_is_cancelled_leaves_the_old_blob_and_nothing_else(
    store: FilesystemBlobStore, root: Path
) -> None:
    await put(store)
    with CancelScope() as scope:
        await store.put(KEY, hang(scope.cancel), content_type="text/plain")
    assert scope.cancelled_caught
    assert await store.get(KEY) == b"content"
    assert list(root.joinpath(*UPLOADS).iterdir()) == []


async def test_content_that_raises_leaves_nothing(store: FilesystemBlobStore, root: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x"
        raise LookupError("upstream")

    with pytest.raises(LookupError, match="upstream"):
        await store.put(KEY, broken(), content_type="text/plain")
    assert await store.head(KEY) is None
    assert everything(root) == []
    assert list(root.joinpath(*UPLOADS).iterdir()) == []


@pytest.mark.parametrize(
    ("number", "error"),
    [
        pytest.param(errno.ENOSPC, StoreFull, id="no room"),
        pytest.param(errno.EDQUOT, StoreFull, id="no room for this user"),
        pytest.param(errno.EIO, StoreUnavailable, id="a bad disk"),
        pytest.param(errno.EROFS, StoreMisconfigured, id="a disk that is only read"),
    ],
)
@pytest.mark.parametrize("call", ["fsync", "replace"])
async def test_what_the_disk_says_is_told(
    store: FilesystemBlobStore,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    error: type[Exception],
    call: str,
) -> None:
    await put(store)

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as broken:
        broken.setattr(os, call, fail)
        with pytest.raises(error, match=f"put: .*{os.strerror(number)}|{os.strerror(number)}") as caught:
            await put(store, content=b"new")
    assert type(caught.value) is error
    assert isinstance(caught.value.__cause__, OSError)
    assert await store.get(KEY) == b"content"


async def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("not a folder")
    with pytest.raises(StoreMisconfigured, match="blobs"):
        await put(FilesystemBlobStore(tmp_path / "blobs"))


# --- flushed -------------------------------------------------------------------------------------------


@pytest.fixture
def done(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was flushed and renamed, in order, as paths from the root."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flush(descriptor: int) -> None:
        paths = [root.parent, root, *root.rglob("*")]
        done.extend(
            os.path.relpath(path, root)
            for path in paths
            if os.path.samestat(path.stat(), os.fstat(descriptor))
        )
        fsync(descriptor)

    def rename(*arguments: Any, **options: Any) -> None:
        done.append("rename")
        replace(*arguments, **options)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", rename)
    return done


async def test_content_is_flushed_before_it_has_its_name_and_the_name_before_put_returns(
    store: FilesystemBlobStore, done: list[str]
) -> None:
    await put(store)
    done.clear()
    await put(store, content=b"new")
    content, *rest = done
    assert content.startswith(f"{UPLOADS[0]}/")
    assert rest == ["rename", "acme/run_a"]


async def test_a_new_folder_is_flushed_into_the_one_above(
    store: FilesystemBlobStore, done: list[str]
) -> None:
    await put(store)
    assert {"..", ".", "acme", "acme/run_a"} <= set(done)
    done.clear()
    await store.delete(KEY)
    assert done == ["acme/run_a", "acme", "."]


async def test_the_loop_goes_on_while_the_disk_is_slow(
    store: FilesystemBlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end, fsync = Event(), Event(), os.fsync

    def flush(descriptor: int) -> None:
        begun.set()
        assert may_end.wait(30)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", flush)
    async with create_task_group() as group:
        group.start_soon(put, store)
        while not begun.is_set():
            await checkpoint()
        may_end.set()
    assert await store.get(KEY) == b"content"


# --- pages ---------------------------------------------------------------------------------------------


async def test_pages_have_each_blob_once_and_go_on_behind_one_that_went(store: FilesystemBlobStore) -> None:
    keys = [BlobKey(tenant, RunId(run), f"call.{n}") for tenant in "ab" for run in "xy" for n in range(3)]
    for key in keys:
        await put(store, key)
    pages = [await store.list(None, limit=5)]
    while pages[-1].cursor:
        pages.append(await store.list(None, limit=5, cursor=pages[-1].cursor))
    assert [key for page in pages for key, _ in page.items] == keys
    first = await store.list(None, limit=4)
    await store.delete(first.items[-1][0])
    rest = await store.list(None, cursor=first.cursor)
    assert [key for key, _ in (*first.items, *rest.items)] == keys
    assert rest.cursor is None


async def test_what_others_left_in_the_folders_is_passed_over(store: FilesystemBlobStore, root: Path) -> None:
    await put(store)
    (root / "README").write_text("not ours")
    (root / "acme" / ".hidden").write_text("not ours")
    (root / "acme" / "run_a" / ".DS_Store").write_text("not ours")
    (root / "acme" / "run_a" / "folder").mkdir()
    assert [key for key, _ in (await store.list(None)).items] == [KEY]


async def test_a_blob_remembers_when_it_was_stored(root: Path) -> None:
    class Noon:
        def now(self) -> datetime:
            return datetime(2026, 1, 2, 12, tzinfo=UTC)

        def monotonic(self) -> float:
            return 0.0

        async def sleep(self, seconds: float) -> None:
            raise AssertionError(seconds)

    known = await put(FilesystemBlobStore(root, clock=Noon()))
    assert known.created_at == Noon().now()
    assert await FilesystemBlobStore(root).head(KEY) == known
