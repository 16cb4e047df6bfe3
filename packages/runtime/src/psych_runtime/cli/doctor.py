"""`psych doctor`: whether all that is needed is here, and whether the store is well."""

from __future__ import annotations

import asyncio
import threading
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from psych_runtime.cli.checkup import here, installed
from psych_runtime.cli.checkup.stored import PROBE_SECONDS, store_checks
from psych_runtime.cli.checkup.titles import fail
from psych_runtime.cli.codecs import codec_named
from psych_runtime.cli.documents import Check, Diagnosis
from psych_runtime.cli.exits import Exit
from psych_runtime.cli.output import Output
from psych_runtime.cli.tables import Table

PROBES: tuple[tuple[str, Callable[[], Check]], ...] = (
    ("python", here.python),
    ("versions", installed.versions),
    ("extras", installed.extras),
    ("drivers", installed.drivers),
    ("env", here.env),
    ("skills", here.skills),
)


def run(options: Namespace, output: Output) -> Exit:
    """Look at everything at once, and say what to type where something is amiss."""
    codec_named(options.codec)
    checks = asyncio.run(_examine(options))
    diagnosis = Diagnosis(all(check.state != "fail" for check in checks), tuple(checks))
    if output.json:
        output.document("psych.doctor/1", diagnosis)
    else:
        Table(output, states=0).add(_rows(checks))
    return Exit.DONE if diagnosis.ok else Exit.FOUND


async def _examine(options: Namespace) -> Sequence[Check]:
    here_too = asyncio.gather(*(_bounded(name, probe) for name, probe in PROBES))
    stored, found = await asyncio.gather(store_checks(options), here_too)
    return [*found, *stored]


async def _bounded(name: str, probe: Callable[[], Check]) -> Check:
    try:
        return await asyncio.wait_for(asyncio.wrap_future(_begun(probe)), PROBE_SECONDS)
    except TimeoutError:
        return fail(
            name, f"it took longer than {PROBE_SECONDS:g} s", "psych doctor again, on a quieter machine"
        )
    except Exception as error:
        return fail(name, f"{type(error).__name__}: {error}", "psych doctor --debug")


def _begun(probe: Callable[[], Check]) -> Future[Check]:
    """What a probe will find. One that hangs keeps nobody: neither its loop nor its process waits for it."""
    found = Future[Check]()

    def look() -> None:
        # Who waits no longer has cancelled it: then it takes neither.
        with suppress(InvalidStateError):
            try:
                found.set_result(probe())
            except Exception as error:
                found.set_exception(error)

    threading.Thread(target=look, daemon=True).start()
    return found


def _rows(checks: Iterable[Check]) -> Iterable[Sequence[str]]:
    for check in checks:
        yield check.state, check.id, check.detail
        if check.fix is not None:
            yield "", "", f"try: {check.fix}"
