"""A stranger's program that our tests talk to stays in its own environment, and brings nothing of ours."""

import re
from pathlib import Path

import pytest

import chaos
import gate
from tests.house.checkout import ROOT, distributions, settings

PINS = re.findall(r"^([a-z0-9._-]+)==(\S+)", chaos.REQUIREMENTS.read_text(), re.MULTILINE)


def test_all_that_is_installed_beside_the_proxy_is_pinned_by_hash() -> None:
    entries = re.split(r"\n(?=\S)", chaos.REQUIREMENTS.read_text().strip())
    assert len(entries) == len(PINS) > 50
    assert all("--hash=sha256:" in entry for entry in entries)
    assert {"--no-deps", "--require-hashes"} <= set(chaos.install("uv"))


def test_no_package_of_ours_is_taken_from_an_index_for_it() -> None:
    ours = {each.name for each in distributions()}
    assert not ours & {name for name, _ in PINS}


def test_the_proxy_enters_neither_the_lock_nor_the_gate() -> None:
    assert 'name = "litellm"' not in (ROOT / "uv.lock").read_text()
    judged = {word for stage in gate.stages() for command in stage.commands for word in command}
    folder = str(chaos.TESTS.relative_to(ROOT))
    assert not {folder, "tests"} & judged
    assert not {folder, "tests"} & set(settings()["tool"]["pytest"]["ini_options"]["testpaths"])


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands that make an environment, which are not carried out."""
    ran: list[list[str]] = []

    def note(command: list[str], failure: str) -> None:
        ran.append(command)

    monkeypatch.setattr(chaos, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(chaos, "run", note)
    return ran


def test_its_environment_is_made_once(commands: list[list[str]]) -> None:
    for _ in range(2):
        chaos.setup()
    assert [command[1:3] for command in commands] == [["venv", "--quiet"], ["pip", "install"]]


def test_its_environment_is_made_anew_for_other_requirements(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chaos.setup()
    monkeypatch.setattr(chaos, "REQUIREMENTS", tmp_path / "requirements.txt")
    chaos.REQUIREMENTS.write_text("other==1.0\n")
    chaos.setup()
    assert len(commands) == 4
