"""Logs in stores, as tests of the command need them: families, blobs, sealed ones and broken ones."""

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packages.core.tests.codecs import SealingCodec
from psych_runtime import (
    AgentSpec,
    BlobKey,
    Codec,
    ModelRef,
    RunId,
    RunQuery,
    Scope,
    Version,
    open_store,
)
from psych_runtime.testing import LogBuilder
from psych_runtime_core.ports.blob import BlobStore

SPEC = AgentSpec(name="clerk", instructions="Help.", model=ModelRef(model="scripted"))
VERSION = Version.of(SPEC)
ACME = Scope(tenant="acme", principal="ada", labels={"plan": "pro"})


def codec() -> SealingCodec:
    """What `--codec tests.kit.logs:codec` names."""
    return SealingCodec()


def url_of(folder: Path, name: str = "runs.db") -> str:
    return f"sqlite:///{folder / name}"


def whole(run_id: str = "run_test", scope: Scope = ACME) -> LogBuilder:
    """A settled Run with a call, a message and an answer."""
    log = LogBuilder(run_id, scope=scope, version_hash=VERSION.hash).admitted({"message": "where is it?"})
    log.attempt().call("look", {"name": "parcel"}, "on its way").enqueued("and hurry").turn().consumed()
    return log.model_started().model_finished("It comes.").settled()


def store(
    url: str,
    *logs: LogBuilder,
    codec: Codec | None = None,
    headers: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Keep logs in the store of a URL. `headers` says more of some, by the id of their Run."""
    asyncio.run(_store(url, logs, codec, headers or {}))


async def _store(
    url: str, logs: tuple[LogBuilder, ...], codec: Codec | None, headers: Mapping[str, Mapping[str, Any]]
) -> None:
    async with open_store(url, migrate=True, codec=codec) as kept:
        await kept.put_version(VERSION)
        for log in logs:
            entries = log.entries(kept.codec)
            fields = {"name": "clerk", "head": entries[-1].head, **headers.get(log.run_id, {})}
            await kept.admit(log.header(**fields), entries)


def family(url: str) -> None:
    """A Run, its two children, and a child of one of those."""
    trees = {
        "run_root": {},
        "run_left": {"parent_run_id": "run_root", "root_run_id": "run_root", "delegation_depth": 1},
        "run_right": {"parent_run_id": "run_root", "root_run_id": "run_root", "delegation_depth": 1},
        "run_deep": {"parent_run_id": "run_left", "root_run_id": "run_root", "delegation_depth": 2},
    }
    logs = [whole(run_id).edit(1, root_run_id=RunId("run_root")) for run_id in trees]
    store(url, *logs, headers=trees)


def put_blob(url: str, run_id: str, content: bytes = b"a picture") -> None:
    """Keep a blob of a Run, whether there is one or not."""
    asyncio.run(_put_blob(url, BlobKey("acme", RunId(run_id), "call_1.1"), content))


async def _put_blob(url: str, key: BlobKey, content: bytes) -> None:
    async with open_store(url, migrate=True) as kept:
        blobs: BlobStore = getattr(kept, "blobs")  # noqa: B009 - no part of the port
        await blobs.put(key, content, content_type="image/png")


def erase(url: str, run_id: str) -> None:
    """Erase a settled Run."""
    asyncio.run(_erase(url, RunQuery(run_ids=frozenset({RunId(run_id)}))))


async def _erase(url: str, query: RunQuery) -> None:
    async with open_store(url) as kept:
        await kept.erase(query)


def flip_a_byte(url: str, run_id: str, seq: int) -> None:
    """Change a byte of a stored body, as a failing disk does."""
    path = url.removeprefix("sqlite:///")
    connection = sqlite3.connect(path)
    key = (run_id, seq)
    (body,) = connection.execute("SELECT body FROM psych_entry WHERE run_id = ? AND seq = ?", key).fetchone()
    flipped = body[:-3] + bytes([body[-3] ^ 1]) + body[-2:]
    connection.execute("UPDATE psych_entry SET body = ? WHERE run_id = ? AND seq = ?", (flipped, *key))
    connection.commit()
    connection.close()


def dump(path: Path) -> list[str]:
    """Everything that a file holds."""
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()
