"""A way for SQLite to its files on which a call fails when a test says so: what a broken disk would do."""

from __future__ import annotations

import ctypes
import importlib
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

Call = Literal["sync", "write"]

_INT, _POINTER = ctypes.c_int, ctypes.c_void_p
_OPEN = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER, _INT, _POINTER)
_SYNC = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)
_WRITE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, ctypes.c_int64)


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods`, whose version is 1 to 3; of the members only these are looked at."""

    _fields_ = (
        ("version", _INT),
        ("before", _POINTER * 2),
        ("write", _POINTER),
        ("truncate", _POINTER),
        ("sync", _POINTER),
        ("behind", _POINTER * 13),
    )


class _File(ctypes.Structure):
    """`sqlite3_file`."""

    _fields_ = (("methods", ctypes.POINTER(_Methods)),)


class _Vfs(ctypes.Structure):
    """`sqlite3_vfs`."""

    _fields_ = (
        ("version", _INT),
        ("file_size", _INT),
        ("path_size", _INT),
        ("next", _POINTER),
        ("name", ctypes.c_char_p),
        ("data", _POINTER),
        ("open", _POINTER),
        ("behind", _POINTER * 15),
    )


@dataclass
class Files:
    """Every file that is opened from now on. The call after so many more fails, and those behind it as long
    as it `lasts`."""

    call: Call = "sync"
    code: int = sqlite3.SQLITE_OK
    left: int = 0
    lasts: bool = False
    struck: int = 0

    def fail(self, call: Call, code: int, after: int, *, lasts: bool) -> None:
        """From now on."""
        self.call, self.code, self.left, self.lasts, self.struck = call, code, after, lasts, 0

    def heal(self) -> None:
        """Nothing fails any more."""
        self.code = sqlite3.SQLITE_OK

    def answer(self, call: Call) -> int:
        """What a call is to fail with; 0: it may go on."""
        if call != self.call or self.code == sqlite3.SQLITE_OK:
            return sqlite3.SQLITE_OK
        self.left -= 1
        if self.left >= 0 or (self.struck and not self.lasts):
            return sqlite3.SQLITE_OK
        self.struck += 1
        return self.code


@contextmanager
def failing_files() -> Generator[Files]:
    """SQLite opens files through ours, until the block is left. Raises `OSError` where it lets nobody in."""
    library, original = _library()
    files = Files()
    ours = _ours(original, files)
    _KEPT.append(ours)
    library.sqlite3_vfs_register(ctypes.byref(ours), 1)
    try:
        yield files
    finally:
        files.heal()
        library.sqlite3_vfs_register(ctypes.byref(original), 1)
        library.sqlite3_vfs_unregister(ctypes.byref(ours))


_KEPT: list[Any] = []
"""What SQLite holds pointers to as long as a file is open."""


def _library() -> tuple[ctypes.CDLL, _Vfs]:
    """The library that Python opens files with, and its usual way to them."""
    # The one that `sqlite3` is linked to, and no other that may be installed beside it. Of a Python that has
    # the module built in, it may be a part of the program itself.
    library = ctypes.CDLL(getattr(importlib.import_module("_sqlite3"), "__file__", None))
    try:
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    except AttributeError as error:
        raise OSError("the library of this Python shows no sqlite3_vfs_find") from error
    return library, library.sqlite3_vfs_find(None).contents


def _ours(original: _Vfs, files: Files) -> _Vfs:
    """The usual way, but for what is done to a file once it is open."""
    ours = _Vfs.from_buffer_copy(original)
    ours.name = b"failing"
    open_usually = ctypes.cast(original.open, _OPEN)
    known: dict[int, Any] = {}

    def open_file(vfs: int, name: int, file: int, flags: int, flags_out: int) -> int:
        del vfs
        code: int = open_usually(ctypes.addressof(original), name, file, flags, flags_out)
        opened = _File.from_address(file)
        if code == sqlite3.SQLITE_OK and opened.methods:
            methods = opened.methods.contents
            pointer = ctypes.addressof(methods)
            if pointer not in known:
                known[pointer] = ctypes.pointer(_failing(methods, files))
            opened.methods = known[pointer]
        return code

    _set(ours, "open", _OPEN(open_file))
    return ours


def _failing(methods: _Methods, files: Files) -> _Methods:
    """The same methods, but that some calls fail."""
    ours = _Methods.from_buffer_copy(methods)
    write, sync = ctypes.cast(methods.write, _WRITE), ctypes.cast(methods.sync, _SYNC)

    def failing_write(file: int, content: int, size: int, offset: int) -> int:
        return files.answer("write") or write(file, content, size, offset)

    def failing_sync(file: int, flags: int) -> int:
        return files.answer("sync") or sync(file, flags)

    _set(ours, "write", _WRITE(failing_write))
    _set(ours, "sync", _SYNC(failing_sync))
    return ours


def _set(structure: ctypes.Structure, name: str, function: Callable[..., int]) -> None:
    _KEPT.append(function)
    setattr(structure, name, ctypes.cast(function, _POINTER).value)  # type: ignore[arg-type]  # a function of ctypes
