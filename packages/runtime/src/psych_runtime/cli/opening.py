"""Opens the store that the command line or the environment names."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from shlex import quote

import psych_runtime
from psych_runtime.cli.codecs import codec_named
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.output import without_passwords
from psych_runtime.store.url import file_of, scheme_of
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
    try:
        scheme = scheme_of(url)
        file = Path(file_of(scheme + url[len(scheme) :])) if scheme == "sqlite" else None
    except ValueError as error:
        raise CommandError(str(error), other) from None
    if scheme == "memory":
        raise CommandError(
            f"{url} lives and dies in the process that made it: nothing is there to read", other
        )
    if file is not None and not make and not file.exists():
        raise CommandError(
            f"there is no file {file.absolute()}", _making(options), Exit.NOT_FOUND, "FileNotFoundError"
        )
    return url


def _making(options: Namespace) -> str:
    """The command that makes the store which is named."""
    named = f" --store {quote(without_passwords(options.store))}" if options.store else ""
    return f"psych migrate{named}, which makes it, or the URL of a store that is there"


def command_of(options: Namespace, **changes: str) -> str:
    """The command that asks the same of this store, of all its Runs where it did, without further flags.

    A variable is not repeated.
    """
    words = ["psych", *options.does.words.split()]
    words += [value for name in ("run", "logs", "files") for value in _listed(getattr(options, name, None))]
    for name in ("store", "tenant", "codec"):
        value = changes.get(name) or getattr(options, name, None)
        words += [f"--{name}", value] if value else []
    words += ["--all"] if getattr(options, "all", False) else []
    return without_passwords(" ".join(map(quote, words)))


def _listed(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []
