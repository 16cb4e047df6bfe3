"""Stores by their URLs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any, assert_type

import pytest

from packages.runtime.tests.api_scenes import SPEC, VERSION, queued
from psych_runtime import (
    BlobStore,
    Codec,
    InMemoryStore,
    MissingExtra,
    NotMigrated,
    PlainCodec,
    RunQuery,
    Store,
    StoreError,
    UnknownStoreUrl,
    open_store,
    publish,
    purge,
    records,
)
from psych_runtime.store import GROUP, sqlite, url
from psych_runtime.testing import FakeClock


async def test_memory_is_a_store_of_this_process() -> None:
    clock, codec = FakeClock(), PlainCodec()
    async with open_store("memory:", migrate=True, clock=clock, codec=codec) as store:
        assert isinstance(store, InMemoryStore)
        assert (store.clock, store.codec) == (clock, codec)
        await queued(store)
    with pytest.raises(StoreError, match="closed"):
        await store.get_version(VERSION.hash)


async def test_a_file_is_there_for_the_next_who_opens_it(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'runs of ours.db'}".replace(" ", "%20")
    clock = FakeClock()
    async with open_store(f"{address}?synchronous=normal&readers=2", migrate=True, clock=clock) as store:
        assert isinstance(store, sqlite.SQLiteStore)
        assert store.clock is clock
        run_id = await queued(store)
    assert (tmp_path / "runs of ours.db").exists()
    async with open_store(address, read_only=True) as store:
        assert len(await records(store, run_id)) == 1
        with pytest.raises(StoreError, match="read-only"):
            await publish(store, SPEC)


async def test_a_scheme_may_be_in_capitals(tmp_path: Path) -> None:
    async with open_store(f"SQLite:///{tmp_path / 'Runs.db'}", migrate=True):
        assert (tmp_path / "Runs.db").exists()
    async with open_store("MEMORY:") as store:
        assert isinstance(store, InMemoryStore)


async def test_a_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_store("sqlite:///rel.db", migrate=True):
        assert (tmp_path / "rel.db").exists()


async def test_nothing_is_migrated_unless_told(tmp_path: Path) -> None:
    async with open_store(f"sqlite:///{tmp_path / 'psych.db'}") as store:
        with pytest.raises(NotMigrated):
            await publish(store, SPEC)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("memory:?readers=2", "memory:", id="memory takes no option"),
        pytest.param("memory://host", "memory:", id="memory has no host"),
        pytest.param("sqlite://rel.db", "sqlite:///", id="two slashes"),
        pytest.param("sqlite:rel.db", "sqlite:///", id="no slashes"),
        pytest.param("sqlite:///", "sqlite:///", id="no path"),
        pytest.param("sqlite:///a#b.db", "sqlite:///", id="a number sign that is not encoded"),
        pytest.param(" sqlite:///a.db", "blanks around it", id="a blank before"),
        pytest.param("memory:\n", "blanks around it", id="a line's end behind"),
        pytest.param("sqlite:///a.db?reader=2", "'reader' is unknown; there are", id="an unknown option"),
        pytest.param("sqlite:///a.db?read_only=1", "'read_only' is unknown", id="an argument as an option"),
        pytest.param("sqlite:///a.db?readers=2&readers=3", "stands twice", id="an option twice"),
        pytest.param("sqlite:///a.db?readers=two", "'readers' is 'two'", id="an option of another type"),
    ],
)
def test_what_a_store_does_not_take_is_refused(address: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        open_store(address)


def test_a_url_is_a_text() -> None:
    address: Any = Path("runs.db")
    with pytest.raises(TypeError, match="url"):
        open_store(address)


async def test_the_blobs_of_a_store_can_be_handed_on_whatever_its_url(tmp_path: Path) -> None:
    for address in ("memory:", f"sqlite:///{tmp_path / 'psych.db'}"):
        async with open_store(address, migrate=True) as store:
            assert_type(store.blobs, BlobStore | None)
            assert store.blobs is not None
            assert await purge(store, query=RunQuery(tenant="acme"), blobs=store.blobs) == 0


def test_a_store_says_which_small_ports_it_has() -> None:
    assert {"kv", "live", "blobs"} <= set(dir(Store))


def test_an_empty_store_is_never_read_only() -> None:
    with pytest.raises(ValueError, match="read only"):
        open_store("memory:", read_only=True)


@pytest.mark.parametrize("address", ["mongo://host/db", "runs.db", "", "/abs/runs.db"])
def test_an_unknown_scheme_is_told_with_those_that_are_known(address: str) -> None:
    with pytest.raises(UnknownStoreUrl) as refused:
        open_store(address)
    assert refused.value.scheme == address.partition(":")[0] * (":" in address)
    assert {"memory", "sqlite"} <= set(refused.value.known)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param("shop.db", "; did you mean 'sqlite:///shop.db'?", id="a file"),
        pytest.param("/data/shop.db", "; did you mean 'sqlite:////data/shop.db'?", id="from the root"),
        pytest.param("memory", "; did you mean 'memory:'?", id="no colon"),
        pytest.param("", "; did you mean 'sqlite:///runs.db'?", id="nothing"),
        pytest.param("//ada:s3cret@host/db", "sqlite://///ada:***@host/db'?", id="a password"),
        pytest.param("mongo://host/db", "sqlite", id="a scheme is meant as it is"),
    ],
)
def test_what_has_no_scheme_is_told_the_url_that_it_may_mean(given: str, meant: str) -> None:
    with pytest.raises(UnknownStoreUrl) as refused:
        open_store(given)
    assert str(refused.value).endswith(meant)


def test_an_adapter_that_is_not_installed_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psych_runtime_sqlite", None)
    monkeypatch.delitem(__import__("sys").modules, "psych_runtime.store.sqlite")
    with pytest.raises(MissingExtra, match=r"psych-runtime\[sqlite\]") as missing:
        open_store("sqlite:///a.db")
    # What others wrote for it came with the default install.
    assert "locked" not in missing.value.command


# --- other people's stores -------------------------------------------------------------------------------


@asynccontextmanager
async def acme(url: str, **given: Any) -> AsyncGenerator[Store]:
    """A stranger's opener."""
    OPENED.append((url, given))
    yield InMemoryStore()


OPENED: list[tuple[str, dict[str, Any]]] = []
WHERE = f"{__name__}:acme"


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    def entry_points(group: str) -> EntryPoints:
        return EntryPoints(EntryPoint(name, WHERE, group) for name in names)

    monkeypatch.setattr("psych_runtime.store.entry_points", entry_points)


async def test_an_installed_adapter_opens_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GROUP == "psych_runtime.stores"
    installed(monkeypatch, "acme", "other")
    codec: Codec = PlainCodec()
    async with open_store("acme://host/db?x=1", migrate=True, codec=codec) as store:
        assert isinstance(store, InMemoryStore)
    given = {"migrate": True, "read_only": False, "codec": codec, "clock": None}
    assert OPENED.pop() == ("acme://host/db?x=1", given)


def test_a_scheme_that_two_adapters_claim_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "acme", "acme")
    with pytest.raises(UnknownStoreUrl):
        open_store("acme://host/db")


async def test_our_own_schemes_are_not_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "memory")
    async with open_store("memory:"):
        assert not OPENED


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("acme://host/db", "acme://host/db"),
        ("acme://me@host/db", "acme://me@host/db"),
        ("acme://me:secret@host:1/db", "acme://me:***@host:1/db"),
        ("acme://:secret@host/db", "acme://:***@host/db"),
        ("acme://me:se%40cret@host/db?a=1", "acme://me:***@host/db?a=1"),
        ("acme://host/db?password=secret&a=1", "acme://host/db?password=***&a=1"),
        ("acme://host/db?sslPassword=secret", "acme://host/db?sslPassword=***"),
        ("sqlite:////data/runs.db", "sqlite:////data/runs.db"),
        ("sqlite:///runs.db?password=secret#a", "sqlite:///runs.db?password=***#a"),
    ],
)
def test_a_password_is_never_shown(address: str, shown: str) -> None:
    assert url.masked(address) == shown


def test_an_error_shows_no_password() -> None:
    with pytest.raises(ValueError, match=r"\*\*\*") as refused:
        open_store("sqlite://me:secret@host/db")
    assert "secret" not in str(refused.value)
