"""Opens the store that the command line or the environment names, for reading."""

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
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.output import without_passwords
from psych_runtime_core.errors import PsychError
from psych_runtime_core.ports.store import Store

VARIABLE = "PSYCH_STORE_URL"


@asynccontextmanager
async def opened(options: Namespace) -> AsyncGenerator[Store]:
    """The store, never migrated and never written. Raises `CommandError` where none is named."""
    url = url_of(options)
    async with AsyncExitStack() as stack:
        async with first_contact(options):
            store = await stack.enter_async_context(psych_runtime.open_store(url, read_only=True))
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
        raise CommandError(str(error), f"psych {options.verb} --help") from None


def url_of(options: Namespace) -> str:
    """The URL that is named. Raises `CommandError` for none, and for one where nothing can be read."""
    url: str = options.store or os.environ.get(VARIABLE, "")
    other = f"psych {options.verb} {quote(options.run)} --store sqlite:///runs.db"
    if not url:
        raise CommandError("no store is named", f"{other}, or set {VARIABLE}")
    parts = urlsplit(url)
    if parts.scheme == "memory":
        raise CommandError(
            f"{url} lives and dies in the process that made it: nothing is there to read", other
        )
    file = Path(unquote(parts.path[1:]))
    if parts.scheme == "sqlite" and not file.exists():
        raise CommandError(f"there is no file {file.absolute()}", other, Exit.NOT_FOUND, "FileNotFoundError")
    return url


def command_of(options: Namespace) -> str:
    """The command that shows this Run of this store, without further flags. A variable is not repeated."""
    words = ["psych", options.verb, options.run]
    for flag, value in (("--store", options.store), ("--tenant", options.tenant)):
        words += [flag, value] if value else []
    return without_passwords(" ".join(map(quote, words)))
