"""Opens the store that the command line or the environment names."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from shlex import quote
from urllib.parse import unquote, urlsplit

import psych_runtime
from psych_runtime.cli.codecs import codec_named
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.output import without_passwords
from psych_runtime_core.errors import PsychError
from psych_runtime_core.ports.store import Store

VARIABLE = "PSYCH_STORE_URL"


@asynccontextmanager
async def opened(options: Namespace, *, write: bool = False, make: bool = False) -> AsyncGenerator[Store]:
    """The store, never migrated. Only with `write` may it be changed, and only with `make` be a file to come.

    Raises `CommandError` where none is named, and for one that nothing can be read from.
    """
    url, codec = url_of(options, make=make), codec_named(options.codec)
    async with AsyncExitStack() as stack:
        async with first_contact(options):
            opening = psych_runtime.open_store(url, read_only=not write, codec=codec)
            store = await stack.enter_async_context(opening)
        yield store


@asynccontextmanager
async def first_contact(options: Namespace) -> AsyncGenerator[None]:
    """Holds the block to `--timeout`, and makes a refused value what it is: a fault of the command line."""
    try:
        async with asyncio.timeout(options.timeout):
            yield
    except TimeoutError:
        late = f"the store did not answer within {options.timeout:g} seconds"
        raise CommandError(
            late, f"{command_of(options)} --timeout 60", Exit.UNREACHABLE, "TimeoutError"
        ) from None
    except ValueError as error:
        if isinstance(error, PsychError):
            raise
        raise CommandError(str(error), f"psych {options.does.words} --help") from None


def url_named(options: Namespace) -> str:
    """The URL that is named; empty for none."""
    url: str = options.store or os.environ.get(VARIABLE, "")
    return url


def url_of(options: Namespace, *, make: bool = False) -> str:
    """The URL of a store that can be opened. Raises `CommandError`."""
    url, other = url_named(options), command_of(options, store="sqlite:///runs.db")
    if not url:
        raise CommandError("no store is named", f"{other}, or set {VARIABLE}")
    parts = urlsplit(url)
    if parts.scheme == "memory":
        raise CommandError(
            f"{url} lives and dies in the process that made it: nothing is there to read", other
        )
    file = Path(unquote(parts.path[1:]))
    if parts.scheme == "sqlite" and not make and not file.exists():
        raise CommandError(f"there is no file {file.absolute()}", other, Exit.NOT_FOUND, "FileNotFoundError")
    return url


def command_of(options: Namespace, **changes: str) -> str:
    """The command that asks the same of this store, without further flags. A variable is not repeated."""
    words = ["psych", *options.does.words.split()]
    words += [value for name in ("run", "logs", "files") for value in _listed(getattr(options, name, None))]
    for name in ("store", "tenant", "codec"):
        value = changes.get(name) or getattr(options, name, None)
        words += [f"--{name}", value] if value else []
    return without_passwords(" ".join(map(quote, words)))


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []
