"""Files that get their name when they are whole, and overwrite nothing."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.staging import name_new, staging


@dataclass
class WholeFile:
    """A file that is being written. `action` says what became of it at the end, `size` its bytes."""

    path: Path
    file: BinaryIO
    size: int = 0
    action: Literal["created", "same"] = "created"

    def write(self, data: bytes) -> None:
        self.size += self.file.write(data)


@contextmanager
def whole_file(path: Path) -> Generator[WholeFile]:
    """What is written in the block, at `path` once the block is through; else nothing of it stays.

    Raises `CommandError` where there is no folder for it, and where another file has that name: at once where
    that is no file, else at the end.
    A file of equal bytes is left as it is.
    """
    if path.exists() and not path.is_file():
        raise _refused(f"{path} is no file")
    if not path.parent.is_dir():
        raise CommandError(
            f"there is no folder {path.parent}",
            "-o in a folder that is there",
            Exit.FAILED,
            "NotADirectoryError",
        )
    with staging(path.parent, {}) as staged:
        # Under its own name a failure would be of a path that nobody gave.
        beside = staged / "file"
        with beside.open("xb") as file:
            written = WholeFile(path, file)
            yield written
            file.flush()
            os.fsync(file.fileno())
        try:
            name_new(beside, path)
        except FileExistsError:
            if not path.is_file() or not filecmp.cmp(beside, path, shallow=False):
                raise _refused(f"{path} is there already, with other bytes") from None
            written.action = "same"


def _refused(message: str) -> CommandError:
    return CommandError(message, "-o with another name", Exit.FAILED, "FileExistsError")
