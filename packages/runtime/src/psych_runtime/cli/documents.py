"""What the documents of the command hold. Their keys are promised; `schemas` publishes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A log that is a file now. `same`: it was there before, with equal bytes.

    `lacks_blobs`: its log names some, and the store has none of them.
    """

    run_id: str
    path: str
    bytes: int
    action: Literal["created", "same"]
    lacks_blobs: bool


@dataclass(frozen=True, slots=True)
class Exported:
    """`psych.export/1`."""

    files: tuple[ExportedFile, ...]


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file, the Run that it holds, and what became of it."""

    path: str
    run_id: str
    action: Literal["imported", "already there", "would be imported"]


@dataclass(frozen=True, slots=True)
class Imported:
    """`psych.import/1`."""

    files: tuple[ImportedFile, ...]


@dataclass(frozen=True, slots=True)
class SkillListed:
    """A skill, and how it stands in the folder."""

    name: str
    description: str
    state: Literal["absent", "current", "outdated", "edited"]


@dataclass(frozen=True, slots=True)
class FileDone:
    """A file, and what was done to it; with `--check`, what would be."""

    path: str
    action: Literal["created", "overwritten", "updated", "replaced", "same", "kept", "removed"]

    @property
    def changes(self) -> bool:
        return self.action not in {"same", "kept"}


@dataclass(frozen=True, slots=True)
class Skills:
    """`psych.skills/1`. `files` is null but for an install."""

    dest: str
    skills: tuple[SkillListed, ...]
    files: tuple[FileDone, ...] | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """`psych.new/1`."""

    path: str
    template: str
    files: tuple[FileDone, ...]
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that the doctor looked at. `fix` is what to type, null where nothing is to be done."""

    id: str
    title: str
    state: Literal["ok", "warn", "fail", "skip"]
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`psych.doctor/1`. `ok`: nothing failed."""

    ok: bool
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class BadLog:
    """A log that breaks a rule: the first seq that shows it, which rule, and how.

    `run_id` is the path of a file that does not tell of a Run.
    """

    run_id: str
    seq: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Verified:
    """`psych.verify/1`. `runs` counts the logs that were judged, `ok`: none is bad."""

    bad: tuple[BadLog, ...]
    runs: int
    ok: bool


@dataclass(frozen=True, slots=True)
class Error:
    """What went wrong, and what to type."""

    type: str
    message: str
    fix: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """`psych.error/1`, on stderr."""

    error: Error
