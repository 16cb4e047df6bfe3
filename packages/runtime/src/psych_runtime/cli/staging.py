"""Files are written aside first, and get their names when they are whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from psych_runtime.cli.kit import Files


@contextmanager
def staging(parent: Path, files: Files) -> Generator[Path]:
    """A new folder under `parent`, with `files` in it. What is left there at the end goes with it.

    Raises `OSError` that names `parent` where no folder can be made in it.
    """
    staged = parent / f".psych-{secrets.token_hex(6)}"
    try:
        staged.mkdir()
    except OSError as error:
        # Nobody named the folder that it tells of.
        raise type(error)(error.errno, error.strerror, str(parent)) from error
    try:
        for path, content in files.items():
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            (staged / path).write_bytes(content)
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def name_new(staged: Path, target: Path) -> None:
    """Give a staged file its name. Raises `FileExistsError` where something has that name by now."""
    try:
        os.link(staged, target)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links: the name is taken first, and a kill in between leaves it empty.
        target.open("xb").close()
        os.replace(staged, target)
