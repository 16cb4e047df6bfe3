"""Where Runs are kept: a store by its URL. The modules beside are the doors to the adapters."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import entry_points
from typing import Protocol

from psych_runtime.api.arguments import of_kind
from psych_runtime.store.url import file_of, masked, options, scheme_of
from psych_runtime_core.clock import Clock
from psych_runtime_core.errors import UnknownStoreUrl
from psych_runtime_core.ports.store import Store
from psych_runtime_core.records import Codec

# Other people's stores: the name of an entry point is its scheme, its object an `Opener`.
GROUP = "psych_runtime.stores"


class Opener(Protocol):
    """Opens the store of a URL for as long as the block lasts."""

    def __call__(
        self, url: str, *, migrate: bool, read_only: bool, codec: Codec | None, clock: Clock | None
    ) -> AbstractAsyncContextManager[Store]: ...


class ClosingStore(Store, AbstractAsyncContextManager["ClosingStore"], Protocol):
    """A store that `async with` closes."""


def open_store(
    url: str,
    *,
    migrate: bool = False,
    read_only: bool = False,
    codec: Codec | None = None,
    clock: Clock | None = None,
) -> AbstractAsyncContextManager[Store]:
    """The store of a URL, open for as long as the block lasts.

    `memory:` is gone with its process. `sqlite:///rel.db` and `sqlite:////abs/path.db` are one file, and take
    the options of `SQLiteStore` as a query: `?synchronous=normal`. Other schemes are those of installed
    adapters. `migrate=True` brings the schema up to date first.

    Raises `UnknownStoreUrl`, `MissingExtra`, and `ValueError` for what a store does not take.
    """
    scheme = scheme_of(of_kind("url", url, str))
    opener = _FIRST_PARTY.get(scheme) or _installed(scheme, None if scheme else _meant(url))
    return opener(scheme + url[len(scheme) :], migrate=migrate, read_only=read_only, codec=codec, clock=clock)


def _meant(path: str) -> str:
    """The URL of what was given without a scheme: most often the path of a file."""
    return "memory:" if path == "memory" else f"sqlite:///{masked(path) or 'runs.db'}"


def _installed(scheme: str, meant: str | None) -> Opener:
    """The opener of the one adapter that claims `scheme`."""
    adapters = entry_points(group=GROUP)
    claims = [adapter for adapter in adapters if adapter.name == scheme]
    if len(claims) != 1:
        unknown = UnknownStoreUrl(scheme, sorted({*_FIRST_PARTY, *adapters.names} - {scheme}), meant)
        if claims:
            homes = sorted(claim.dist.name if claim.dist else claim.value for claim in claims)
            unknown.add_note(f"uninstall all but one of those that claim {scheme!r}: {', '.join(homes)}")
        raise unknown
    opener: Opener = claims[0].load()
    return opener


def _memory(
    url: str, *, migrate: bool, read_only: bool, codec: Codec | None, clock: Clock | None
) -> AbstractAsyncContextManager[Store]:
    from psych_runtime_memory import InMemoryStore

    if url != "memory:" or read_only:
        raise ValueError(f"{masked(url)}: write memory: alone; a store that is empty is never read only")
    return _opened(lambda: InMemoryStore(codec=codec, clock=clock), migrate=migrate)


def _sqlite(
    url: str, *, migrate: bool, read_only: bool, codec: Codec | None, clock: Clock | None
) -> AbstractAsyncContextManager[Store]:
    from psych_runtime.store.sqlite import SQLiteStore

    path, given = file_of(url), options(url, SQLiteStore)
    return _opened(
        lambda: SQLiteStore(path, read_only=read_only, codec=codec, clock=clock, **given), migrate=migrate
    )


_FIRST_PARTY: Mapping[str, Opener] = {"memory": _memory, "sqlite": _sqlite}


@asynccontextmanager
async def _opened(build: Callable[[], ClosingStore], *, migrate: bool) -> AsyncGenerator[Store]:
    async with build() as store:
        if migrate:
            await store.migrate()
        yield store
