"""What the command ends with, and what it says when something went wrong."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, cast

from psych_runtime_core.errors import (
    CorruptLog,
    IdempotencyConflict,
    MissingExtra,
    NotMigrated,
    PsychError,
    RecordTooNew,
    RunNotFound,
    StoreFull,
    StoreMisconfigured,
    StoreUnavailable,
    UnknownStoreUrl,
    VersionNotFound,
)


class Exit(IntEnum):
    """The exit codes. They are promised, and mean the same for every verb."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    FOUND = 3
    NOT_FOUND = 4
    UNREACHABLE = 5
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS: Mapping[Exit, str] = {
    Exit.DONE: "done",
    Exit.FAILED: "refused or failed, as it says",
    Exit.USAGE: "the command line is wrong: a verb, a flag, a name, or the URL of a store",
    Exit.FOUND: "the check ran and found something",
    Exit.NOT_FOUND: "there is no such Run, Version or file",
    Exit.UNREACHABLE: "the store does not answer",
    Exit.INTERRUPTED: "Ctrl-C",
    Exit.PIPE_CLOSED: "who read the output has gone",
}


class CommandError(Exception):
    """A refusal of the command itself: what is wrong, what to type, the code it ends with, its kind."""

    def __init__(
        self, message: str, fix: str, code: Exit = Exit.USAGE, kind: str = "CommandError", **fields: object
    ) -> None:
        self.message, self.fix, self.code, self.kind, self.fields = message, fix, code, kind, fields
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of an error, and the code it means."""

    code: Exit
    type: str
    message: str
    fix: str
    fields: Mapping[str, object]


def verdict_of(error: Exception) -> Verdict:
    """The verdict on anything that a verb raised."""
    if isinstance(error, CommandError):
        return Verdict(error.code, error.kind, error.message, error.fix, error.fields)
    code, fix = next(
        ((code, fix(error)) for kind, code, fix in _VERDICTS if isinstance(error, kind)),
        (Exit.FAILED, _WITH_DEBUG),
    )
    kind = type(error).__name__
    expected = isinstance(error, PsychError | OSError)
    return Verdict(code, kind, str(error) if expected else f"{kind}: {error}", fix, _fields_of(error))


def _fields_of(error: Exception) -> Mapping[str, object]:
    """What a typed error carries, as far as JSON holds it; `__notes__` and the like are no fields."""
    return {name: _plain(value) for name, value in vars(error).items() if not name.startswith("_")}


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    return list(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else str(value)


_WITH_DEBUG = "the same command with --debug, which shows where it failed"


def _cure_of_missing_extra(error: Any) -> str:
    return f"{error.command}, dist being what `make wheels` made"


def _cure_of_schema(error: Any) -> str:
    if error.found > error.needed:
        return "psych of the release that wrote this store; this one is older"
    return "psych migrate, which brings the store up to this release"


def _cure_of_url(error: Any) -> str:
    """A scheme that two adapters claim is told in a note."""
    return next(iter(getattr(error, "__notes__", ())), "--store sqlite:///runs.db")


def _cure_of_os_error(error: Any) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "the same command, once there is room on that disk"
    return "the same command, once that file or folder can be used"


def _always(fix: str) -> Callable[[Any], str]:
    return lambda _: fix


# The first that fits holds.
_VERDICTS: tuple[tuple[type[Exception], Exit, Callable[[Any], str]], ...] = (
    (RunNotFound, Exit.NOT_FOUND, _always("psych show RUN with another id, --store or --tenant")),
    (VersionNotFound, Exit.NOT_FOUND, _always("--store with the store that the Version was published in")),
    (StoreFull, Exit.FAILED, _always("the same command, once there is room in that store")),
    (StoreUnavailable, Exit.UNREACHABLE, _always("the same command once that store is there and free")),
    (StoreMisconfigured, Exit.FAILED, _always("the same command once that is set right")),
    (NotMigrated, Exit.FAILED, _cure_of_schema),
    (UnknownStoreUrl, Exit.USAGE, _cure_of_url),
    (IdempotencyConflict, Exit.FAILED, _always("psych show of the Run that has this key")),
    (MissingExtra, Exit.FAILED, _cure_of_missing_extra),
    (RecordTooNew, Exit.FAILED, _always("psych of the release that wrote this Run")),
    (
        CorruptLog,
        Exit.FAILED,
        _always("restoring this log from a backup; psych repairs nothing"),
    ),
    (FileNotFoundError, Exit.NOT_FOUND, _always("the same command with a file that is there")),
    (OSError, Exit.FAILED, _cure_of_os_error),
)
