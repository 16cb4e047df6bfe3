"""Puts files where they belong: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from psych_runtime.cli.documents import FileDone
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.kit import Files
from psych_runtime.cli.staging import name_new, staging


def place(files: Files, folder: Path, *, force: bool) -> tuple[FileDone, ...]:
    """Write `files` into `folder`, and say what was done to each.

    Each is whole before it has its name, so a full disk or a kill leaves no half of one, and a new `folder`
    appears at once with all of them. Raises `CommandError`, with nothing written, for what is in the way,
    and `FileExistsError` for a file that appears meanwhile.
    """
    _refuse_what_is_in_the_way(folder, force=force)
    placed = tuple(FileDone(path, _action(folder / path, content)) for path, content in files.items())
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with staging(folder.parent, files) as staged:
            staged.rename(folder)
        return placed
    refuse_targets(folder, files)
    with staging(folder, files) as staged:
        for each in placed:
            (folder / each.path).parent.mkdir(parents=True, exist_ok=True)
            if each.action == "created":
                name_new(staged / each.path, folder / each.path)
            elif each.changes:
                os.replace(staged / each.path, folder / each.path)
    return placed


def _refuse_what_is_in_the_way(folder: Path, *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise _refused(f"{folder} is a file", "another NAME")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise _refused(
            f"{folder} is not empty", "another NAME, or --force to overwrite files of the template"
        )


def refuse_targets(folder: Path, files: Iterable[str]) -> None:
    """Raise `CommandError` where a link leads out of `folder`, or a file has the name of a folder."""
    inside = folder.resolve()
    for path in files:
        target = folder / path
        if target.is_dir() and not target.is_symlink():
            raise _refused(f"{target} is a folder, and a file is to stand there", "another place")
        if any(parent.is_file() for parent in target.parents):
            raise _refused(f"{target.parent} is a file, and a folder is to stand there", "another place")
        if not target.parent.resolve().is_relative_to(inside):
            raise _refused(f"{target.parent} leads out of {folder}", "another place, or take that link away")


def _action(target: Path, content: bytes) -> Literal["created", "overwritten", "same"]:
    if not os.path.lexists(target):
        return "created"
    return "same" if target.is_file() and target.read_bytes() == content else "overwritten"


def _refused(message: str, fix: str) -> CommandError:
    return CommandError(message, fix, Exit.FAILED)
