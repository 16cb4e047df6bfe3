"""The skills that come with the package, and what each says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from psych_runtime.cli.kit import Files, files_of, kit_folder

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
# A value goes on in the lines that are indented.
_FIELD = re.compile(r"^(\w+):[ ]*(.*(?:\n[ ]+.*)*)", re.MULTILINE)
_SENTENCE = re.compile(r".*?[.!?](?=\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Skill:
    """A folder with a `SKILL.md` in it."""

    name: str
    description: str
    files: Files

    @property
    def first_sentence(self) -> str:
        found = _SENTENCE.match(self.description)
        return found[0] if found else self.description


def skills() -> Path:
    """Where they stand."""
    return kit_folder("skills", ".agents/skills")


def shipped() -> list[Skill]:
    """Every skill, by name."""
    folder = skills()
    return list(_skills(folder)) if folder.is_dir() else []


def _skills(folder: Path) -> Iterator[Skill]:
    for home in sorted(path for path in folder.iterdir() if (path / "SKILL.md").is_file()):
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_of(home)}
        text = (home / "SKILL.md").read_text("utf-8")
        yield Skill(home.name, _fields(text).get("description", ""), files)


def _fields(text: str) -> dict[str, str]:
    """The front matter, as far as it is made of names and texts."""
    matter = _FRONT_MATTER.match(text)
    found = _FIELD.findall(matter[1]) if matter else []
    return {name: " ".join(value.lstrip(">|-").split()).strip("\"'") for name, value in found}
