"""What is no file and no place for blobs is refused before anything is read or written."""

import io
from collections.abc import AsyncGenerator
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from packages.runtime.tests.api_scenes import queued
from psych_runtime import InMemoryStore, RunQuery, Store, export_run, import_run, purge, redacted

NO_LINES: list[Any] = [
    pytest.param("bob.jsonl", id="a name"),
    pytest.param(Path("bob.jsonl"), id="a path"),
    pytest.param(b"line\n", id="bytes"),
    pytest.param(io.StringIO("line\n"), id="a file in text mode"),
    pytest.param(["line\n"], id="lines of text"),
    pytest.param(None, id="nothing"),
]


@pytest.fixture
async def store() -> AsyncGenerator[Store]:
    async with InMemoryStore() as store:
        yield store


@pytest.mark.parametrize("lines", NO_LINES)
async def test_what_gives_no_lines_of_bytes_is_refused_with_what_does(store: Store, lines: Any) -> None:
    for reading in (import_run(store, copy(lines)), anext(redacted(copy(lines)))):
        with pytest.raises(TypeError, match=r"give lines of bytes, such as open\(path, 'rb'\)"):
            await reading


async def test_a_file_that_is_opened_for_bytes_is_taken(store: Store, tmp_path: Path) -> None:
    run_id, path = await queued(store), tmp_path / "run.jsonl"
    path.write_bytes(b"".join([line async for line in export_run(store, run_id)]))
    async with InMemoryStore() as other:
        with path.open("rb") as file:
            assert await import_run(other, file) == run_id


async def test_what_keeps_no_blobs_is_refused_where_it_is_given(store: Store) -> None:
    blobs: Any = True
    run_id = await queued(store)
    with pytest.raises(TypeError, match=r"bool without put, .*; give a BlobStore, such as store\.blobs"):
        await purge(store, query=RunQuery(tenant="nobody"), blobs=blobs)
    with pytest.raises(TypeError, match="blobs is a bool without"):
        export_run(store, run_id, blobs=blobs)
    with pytest.raises(TypeError, match="blobs is a bool without"):
        await import_run(store, [], blobs=blobs)
