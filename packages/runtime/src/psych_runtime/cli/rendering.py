"""The templates, and what becomes of one under a project's own names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from psych_runtime.cli.exits import CommandError
from psych_runtime.cli.naming import Names

PACKAGE = Path(__file__).resolve().parents[1]
# Names without their dot, so that a template's own files act on no checkout that holds it.
_DOTTED = frozenset({"gitignore", "dockerignore", "env"})
_WORDS = re.compile("psych-project|psychproject|PsychProject")

Files = Mapping[PurePosixPath, bytes]


def render(template: str, names: Names) -> Files:
    """Every file of `template`, by its path in the project. Raises `CommandError` for one there is not."""
    folder = templates() / template
    if template not in template_names():
        known = ", ".join(template_names())
        raise CommandError(f"there is no template {template!r}", f"--template with one of: {known}")
    put = {
        "psych-project": names.project,
        "psychproject": names.package,
        "PsychProject": names.class_prefix,
    }

    def renamed(text: str) -> str:
        return _WORDS.sub(lambda word: put[word[0]], text)

    rendered = {
        _dotted(PurePosixPath(renamed(path.relative_to(folder).as_posix()))): renamed(
            path.read_text("utf-8")
        ).encode()
        for path in _files_of(folder)
    }
    return dict(sorted(rendered.items()))


def template_names() -> list[str]:
    """The templates there are."""
    return sorted(path.name for path in templates().iterdir() if (path / "pyproject.toml").is_file())


def templates() -> Path:
    """Where they stand: in an installed package, or at the top of the checkout that this one is in."""
    installed = PACKAGE / "_kit" / "templates"
    return installed if installed.is_dir() else PACKAGE.parents[3] / "templates"


def _files_of(folder: Path) -> Iterator[Path]:
    """The files that were written by hand."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in parts):
            yield path


def _dotted(path: PurePosixPath) -> PurePosixPath:
    return path.with_name(f".{path.name}") if path.name in _DOTTED else path
