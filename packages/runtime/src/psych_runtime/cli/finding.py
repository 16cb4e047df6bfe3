"""Finds the Run that is named."""

from __future__ import annotations

from argparse import Namespace

from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.opening import first_contact
from psych_runtime_core.errors import RunNotFound
from psych_runtime_core.ids import RunId, checked_identifier
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.store import Store


async def header_in(store: Store, options: Namespace, named: str) -> RunHeader:
    """The header of the Run that is named, held to `--tenant` where that is a flag and given.

    Raises `CommandError`: a Run that is not there and one of another tenant are told by the same words.
    """
    run_id, tenant = RunId(_checked("RUN", named, options)), getattr(options, "tenant", None)
    held = None if tenant is None else _checked("--tenant", tenant, options)
    try:
        async with first_contact(options):
            header = await store.get_run(run_id)
    except RunNotFound:
        raise _absent(named) from None
    if held is not None and header.scope.tenant != held:
        raise _absent(named)
    return header


def _absent(run: str) -> CommandError:
    fix = "psych runs, which lists those of the store that was given"
    return CommandError(f"there is no Run {run} here", fix, Exit.NOT_FOUND, "RunNotFound", run_id=run)


def _checked(what: str, text: str, options: Namespace) -> str:
    try:
        return checked_identifier(text)
    except ValueError as error:
        raise CommandError(f"{what}: {error}", f"psych {options.does.words} --help") from None
