"""Opens the store of a URL: what the entry point of pyproject.toml names."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from psych_runtime import Clock, Codec, InMemoryStore, Store

from psychproject.store import PsychProjectStore


@asynccontextmanager
async def open_store(
    url: str,
    *,
    migrate: bool = False,
    read_only: bool = False,
    codec: Codec | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Store]:
    """A store for as long as the block lasts. A URL says where it is, which in memory is nowhere."""
    if url != "acme:":
        raise ValueError("write acme: alone, until this store is kept somewhere")
    kept = InMemoryStore(codec=codec, clock=clock)
    async with PsychProjectStore(kept, read_only=read_only) as store:
        if migrate:
            await store.migrate()
        yield store
