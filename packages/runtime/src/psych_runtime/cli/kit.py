"""The files that come with the package and are no code: templates and skills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

Files = Mapping[str, bytes]
"""Files by their paths in a folder, which are written with slashes everywhere."""
PACKAGE = Path(__file__).resolve().parents[1]


def kit_folder(name: str, in_checkout: str) -> Path:
    """Where such files stand: in an installed package, or in the checkout that this one is in."""
    installed = PACKAGE / "_kit" / name
    return installed if installed.is_dir() else PACKAGE.parents[3] / in_checkout


def files_of(folder: Path) -> Iterator[Path]:
    """The files under a folder that were written by hand."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in parts):
            yield path
