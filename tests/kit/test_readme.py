"""What carries out a project's README: what installs comes first, and what is said wrong is told."""

from pathlib import Path

import pytest

from tests.kit import readme


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder of programs: a `pip` that writes down what it is told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "pip").write_text('#!/bin/sh\necho "$@" >> installed\n')
    (folder / "pip").chmod(0o755)
    return folder


def project(folder: Path, *commands: str) -> Path:
    (folder / "README.md").write_text("".join(f"```console\n$ {command}\n```\n\n" for command in commands))
    return folder


def test_what_installs_comes_first_from_the_folder_that_is_given(tmp_path: Path, programs: Path) -> None:
    here = project(
        tmp_path, "cat installed\ninstall --find-links /dist a", f"pip install --find-links {readme.DIST} a"
    )
    assert readme.main(here, programs, Path("/dist")) == 0


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo b\na", "line 6 of the README of"),
        ("false", "$ false"),
        ("ruff --version\n…", "ruff"),
    ],
    ids=["another output", "a bad end", "a program that was not installed"],
)
def test_what_is_said_wrong_is_told(
    tmp_path: Path, programs: Path, capsys: pytest.CaptureFixture[str], command: str, says: str
) -> None:
    assert readme.main(project(tmp_path, "true", command, "touch later"), programs, Path("/dist")) == 1
    assert says in capsys.readouterr().out
    assert not (tmp_path / "later").exists()
