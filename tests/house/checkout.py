"""The checkout as the house tests see it: its files, its distributions, their settings."""

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@cache
def files() -> tuple[Path, ...]:
    """Every file that is, or is about to be, in the repository, as a path from the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = map(Path, sorted(set(listed.stdout.split("\0")) - {""}))
    return tuple(path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink())


def is_test(path: Path) -> bool:
    """Whether a Python file is held to the looser limits of tests."""
    return "tests" in path.parts or path.name == "conftest.py"


def modules() -> Iterator[Path]:
    """Every Python file but the templates', which are a project each."""
    return (path for path in files() if path.suffix == ".py" and path.parts[0] != "templates")


def cases(paths: Iterator[Path]) -> list[Any]:
    """One test case a file, named by its path."""
    return [pytest.param(path, id=str(path)) for path in paths]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax of one file."""
    return ast.parse((ROOT / path).read_text(), str(path))


@dataclass(frozen=True)
class Distribution:
    """The folder of a distribution: what its pyproject.toml says."""

    path: Path
    settings: dict[str, Any]
    project: dict[str, Any]
    name: str
    extras: dict[str, list[str]]

    @property
    def folder(self) -> str:
        """Its last name."""
        return self.path.name

    @property
    def package(self) -> str:
        """What is imported."""
        return self.name.replace("-", "_")

    def requirements(self) -> list[str]:
        """What it needs, extras included."""
        return [*self.project["dependencies"], *(each for extra in self.extras.values() for each in extra)]


@cache
def settings() -> dict[str, Any]:
    """The root's pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@cache
def distributions() -> tuple[Distribution, ...]:
    """All distributions, by folder."""
    found = [*sorted(ROOT.glob("packages/*/pyproject.toml")), ROOT / "tests-contract" / "pyproject.toml"]
    return tuple(read(file) for file in found)


def read(file: Path) -> Distribution:
    """The distribution of one pyproject.toml."""
    settings = tomllib.loads(file.read_text())
    project = settings["project"]
    extras = project.get("optional-dependencies", {})
    return Distribution(file.parent, settings, project, project["name"], extras)


def distribution(name: str) -> Distribution:
    """The distribution of this name."""
    return next(each for each in distributions() if each.name == name)


def adapters() -> list[Distribution]:
    """Those that a user reaches through an extra and a door."""
    inner = {"core", "memory", "runtime", "sql", "tests-contract"}
    return [each for each in distributions() if each.folder not in inner]


def version() -> str:
    """The one number that all distributions share."""
    return str(distribution("psych-runtime").project["version"])
