"""Folders within a root, held by descriptors, so that no link on the way leads out of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO, TypeVar

T = TypeVar("T")

Path = tuple[str, ...]

MOST_TRIES = 64

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP}


def is_absent(error: OSError) -> bool:
    """Whether nothing is there, or nothing of ours: a link is not followed."""
    return error.errno in _ABSENT


class Folders:
    """The folders of a root, which may itself be a link. All here may raise `OSError`."""

    def __init__(self, root: str) -> None:
        self._root = root

    @contextmanager
    def opened(self, path: Sequence[str], *, create: bool = False) -> Generator[int]:
        """The descriptor of the folder at `path`."""
        if create:
            _make_root(os.path.abspath(self._root))
        folder = os.open(self._root, _FOLDER)
        try:
            for name in path:
                if create:
                    _make(name, folder)
                outer, folder = folder, os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                os.close(outer)
            yield folder
        finally:
            os.close(folder)

    def names(self, path: Sequence[str]) -> list[str]:
        """What is in a folder, in order; nothing when there is no such folder."""
        try:
            with self.opened(path) as folder:
                return sorted(os.listdir(folder))
        except OSError as error:
            if is_absent(error):
                return []
            raise

    def read(self, path: Sequence[str], name: str) -> BinaryIO:
        """A file to be read."""
        with self.opened(path) as folder:
            return open(name, "rb", opener=partial(_open_file, dir_fd=folder))

    def create(self, path: Sequence[str], name: str) -> BinaryIO:
        """A new file to be written."""
        return self.within(path, lambda folder: open(name, "xb", opener=partial(_open_file, dir_fd=folder)))

    def within(self, path: Sequence[str], act: Callable[[int], T]) -> T:
        """Do something in a folder, which comes if it is not there."""
        for _ in range(MOST_TRIES):
            # Who removes the last file of a folder removes the folder, maybe just now.
            with suppress(FileNotFoundError), self.opened(path, create=True) as folder:
                return act(folder)
        raise FileNotFoundError(errno.ENOENT, "it is removed again and again", "/".join(path))

    def remove(self, path: Sequence[str], name: str) -> bool:
        """Remove a file for good; whether there was one."""
        try:
            with self.opened(path) as folder:
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        except OSError as error:
            if is_absent(error):
                return False
            raise
        return True

    def remove_empty(self, path: Sequence[str]) -> None:
        """Remove a folder and those above it, as far as they are empty."""
        for depth in range(len(path), 0, -1):
            with suppress(OSError), self.opened(path[: depth - 1]) as above:
                os.rmdir(path[depth - 1], dir_fd=above)
                os.fsync(above)


def _make_root(root: str) -> None:
    if os.path.isdir(root):
        return
    above = os.path.dirname(root)
    _make_root(above)
    folder = os.open(above, _FOLDER)
    try:
        _make(root, folder)
    finally:
        os.close(folder)


def _make(name: str, folder: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
        os.fsync(folder)


def _open_file(name: str, flags: int, *, dir_fd: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=dir_fd)
