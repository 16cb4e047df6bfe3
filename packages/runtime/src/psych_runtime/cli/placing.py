"""Puts the files of a project where they belong: all of them, or none."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.rendering import Files

Action = Literal["created", "overwritten", "same"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A file of the project and what was done to it."""

    path: PurePosixPath
    action: Action


def place(files: Files, folder: Path, *, force: bool) -> tuple[Placed, ...]:
    """Write `files` into `folder`, and say what was done to each.

    Each is written whole under a temporary name first, so a full disk or a kill leaves no half of one, and
    a new `folder` appears at once with all of them. Raises `CommandError`, with nothing written, for what
    is in the way.
    """
    _refuse_what_is_in_the_way(folder, force=force)
    placed = tuple(Placed(path, _action(folder / path, content)) for path, content in files.items())
    if not folder.exists():
        with _staging(folder.parent, files) as staged:
            staged.rename(folder)
        return placed
    _refuse_targets(folder, files)
    with _staging(folder, files) as staged:
        for each in placed:
            if each.action != "same":
                (folder / each.path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(staged / each.path, folder / each.path)
    return placed


def _refuse_what_is_in_the_way(folder: Path, *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise _refused(f"{folder} is a file", "another NAME")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise _refused(
            f"{folder} is not empty", "another NAME, or --force to overwrite files of the template"
        )


def _refuse_targets(folder: Path, files: Files) -> None:
    """Nothing may be written through a link that leads out of the project, or over a folder."""
    inside = folder.resolve()
    for path in files:
        target = folder / path
        if target.is_dir() and not target.is_symlink():
            raise _refused(f"{target} is a folder, and the template has a file of that name", "another NAME")
        if any(parent.is_file() for parent in target.parents):
            raise _refused(f"{target.parent} is a file, and the template has a folder there", "another NAME")
        if not target.parent.resolve().is_relative_to(inside):
            raise _refused(f"{target.parent} leads out of {folder}", "another NAME, or take that link away")


def _action(target: Path, content: bytes) -> Action:
    if not target.is_file():
        return "created"
    return "same" if target.read_bytes() == content else "overwritten"


@contextmanager
def _staging(parent: Path, files: Files) -> Generator[Path]:
    """All of `files` in a folder under `parent`, which goes when it is not renamed."""
    staged = parent / f".psych-new-{secrets.token_hex(6)}"
    try:
        for path, content in files.items():
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            (staged / path).write_bytes(content)
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _refused(message: str, fix: str) -> CommandError:
    return CommandError(message, fix, Exit.FAILED)
