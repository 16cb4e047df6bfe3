"""The templates, and what becomes of one under a project's own names."""

from __future__ import annotations

import re
from pathlib import Path

from psych_runtime.cli.exits import CommandError
from psych_runtime.cli.kit import Files, files_of, kit_folder
from psych_runtime.cli.naming import Names

# Names without their dot, so that a template's own files act on no checkout that holds it.
_DOTTED = frozenset({"gitignore", "dockerignore", "env"})
_WORDS = re.compile("psych-project|psychproject|PsychProject")


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
        _dotted(renamed(path.relative_to(folder).as_posix())): renamed(path.read_text("utf-8")).encode()
        for path in files_of(folder)
    }
    return dict(sorted(rendered.items()))


def template_names() -> list[str]:
    """The templates there are."""
    return sorted(path.name for path in templates().iterdir() if (path / "pyproject.toml").is_file())


def templates() -> Path:
    """Where they stand."""
    return kit_folder("templates", "templates")


def _dotted(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}" if name in _DOTTED else path
