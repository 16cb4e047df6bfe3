"""What a project may be called, and the names that follow from it."""

from __future__ import annotations

import keyword
import re
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from psych_runtime.cli.exits import CommandError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
# Modules that a project has beside its package.
_OWN = frozenset({"main", "tests"})


@dataclass(frozen=True, slots=True)
class Names:
    """The three forms in which a project is named: to install, to import, and in front of a class."""

    project: str
    package: str
    class_prefix: str


def names_of(path: str) -> Names:
    """The names of the project that stands at `path`. Raises `CommandError` for one that would not work."""
    last = Path(path).name
    if not _NAME.fullmatch(last):
        raise _refused(path, "its last part must be a letter and up to 63 letters, digits, _ and -")
    package = last.replace("-", "_").lower()
    if why := _why_not(package):
        raise _refused(path, f"{package!r} {why}, so nobody could import the project")
    words = re.split(r"[-_]+", last)
    # What is installed must end in a letter or digit.
    return Names(last.rstrip("-_"), package, "".join(word[:1].upper() + word[1:] for word in words))


def _why_not(package: str) -> str | None:
    if keyword.iskeyword(package):
        return "is a keyword of Python"
    if package in sys.stdlib_module_names:
        return "is a module of Python's own"
    if package.startswith("psych_runtime"):
        return "is a name of Psych's own"
    if package in _OWN:
        return "is another module of the same project"
    return "is installed here" if _is_installed(package) else None


def _is_installed(package: str) -> bool:
    """Whether the project's package would hide one that was installed, one Psych needs among them."""
    spec = find_spec(package)
    origin = spec.origin if spec else None
    return origin is not None and Path(origin).is_relative_to(sysconfig.get_path("purelib"))


def _refused(path: str, reason: str) -> CommandError:
    return CommandError(f"{path!r} is no name for a project: {reason}", "psych new demo", name=path)
