"""What the command says of a store or a file that is not there, and of how it may end."""

import re
from pathlib import Path

import pytest

from psych_runtime.cli.exits import MEANINGS, Exit
from psych_runtime.cli.rendering import template_names
from psych_runtime.testing import LogBuilder
from tests.kit.command import Psych
from tests.kit.logs import ACME, VERSION, store, url_of, whole


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("verb", [("runs",), ("log", "import", "a.jsonl"), ("stats",)], ids=" ".join)
def test_a_store_that_is_not_there_is_made_by_the_command_that_is_told(
    psych: Psych, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    absent = psych(*verb, "--store", "sqlite:///new.db")
    assert (absent.code, absent.out) == (4, "")
    cure = absent.err.splitlines()[1].removeprefix("try: ").partition(",")[0]
    assert cure == "psych migrate --store sqlite:///new.db"
    assert psych(*cure.split()[1:]).code == 0
    assert (tmp_path / "new.db").exists()


def test_a_variable_is_not_repeated_in_that_command(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYCH_STORE_URL", "sqlite:///new.db")
    assert psych("runs").err.splitlines()[1].startswith("try: psych migrate, which makes it")


def test_a_store_in_a_folder_that_is_missing_says_so(psych: Psych, tmp_path: Path) -> None:
    ended = psych("migrate", "--store", "sqlite:///nowhere/runs.db")
    assert ended.code == 1
    assert f"there is no folder {tmp_path / 'nowhere'}; make it" in ended.err


@pytest.mark.parametrize("name", ["nope.jsonl", "backups/run_1"])
@pytest.mark.parametrize("flags", [(), ("--store", "sqlite:///runs.db")], ids=["no store", "a store"])
def test_a_word_that_can_only_be_a_file_is_a_file_that_is_missing(
    psych: Psych, tmp_path: Path, name: str, flags: tuple[str, ...]
) -> None:
    store(url_of(tmp_path), whole())
    ended = psych("log", "verify", name, *flags, "--json")
    assert (ended.code, ended.out) == (4, "")
    assert ended.error()["type"] == "FileNotFoundError"
    assert ended.error()["message"] == f"there is no file {name}"


def test_the_command_that_is_told_asks_of_all_runs_again(psych: Psych) -> None:
    ended = psych("log", "verify", "--all")
    assert ended.err.splitlines()[1].startswith("try: psych log verify --store sqlite:///runs.db --all, or")


def test_a_run_that_stands_with_another_log_is_told_first(psych: Psych, tmp_path: Path) -> None:
    store(url_of(tmp_path), whole())
    other = url_of(tmp_path, "other.db")
    store(other, LogBuilder("run_test", scope=ACME, version_hash=VERSION.hash).admitted().attempt())
    assert psych("log", "export", "run_test", "--store", url_of(tmp_path), "-o", "run.jsonl").code == 0
    ended = psych("log", "import", "run.jsonl", "--store", other, "--json")
    assert (ended.code, ended.error()["type"]) == (1, "LogConflict")
    assert ended.error()["message"].startswith(
        "run.jsonl: run_test: another log is stored here under this id"
    )
    assert "corrupt" not in ended.error()["message"]
    assert "purge that Run once it is settled" in ended.error()["message"]
    assert ended.error()["fix"] == "psych log import with --store of another store"


def test_help_tells_every_exit_code(psych: Psych) -> None:
    assert set(MEANINGS) == set(Exit)
    told = " ".join(psych("--help").out.split())
    assert all(f"{code.value} {said}" in told for code, said in MEANINGS.items())


def test_help_names_the_templates(psych: Psych) -> None:
    told = " ".join(psych("new", "--help").out.split())
    assert re.findall(r"(\w+): an? \w+", told) == template_names()
