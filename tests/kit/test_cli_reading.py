"""Reading verbs: on a file and a folder that cannot be written, and with nothing changed by them."""

import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.kit.command import Psych, run
from tests.kit.logs import dump, family, url_of

READING = (
    ["runs"],
    ["runs", "--all", "--json", "--limit", "1"],
    ["show", "run_root"],
    ["show", "run_root", "--children", "--records", "--json"],
    ["show", "run_root", "--follow"],
    ["log", "export", "run_root"],
    ["log", "export", "run_root", "--redact"],
    ["log", "verify", "--all"],
    ["stats"],
    ["migrate", "--check"],
    ["migrate", "--plan"],
    ["doctor"],
)
# Whoever may do everything is nobody from then on. What it loads later must be where anybody can read it.
PROGRAM = """
import os, sys
from pathlib import Path
from psych_runtime.cli import main
from tests.kit.test_cli_reading import READING
folder, mode = Path(sys.argv[1]), int(sys.argv[2], 8)
commands = [[*verb, "--store", f"sqlite:///{folder}/runs.db", "--quiet"] for verb in READING]
assert [main(command) for command in commands] == [0] * len(commands)
for name in sys.argv[3:]:
    (folder / f"runs.db{name}").unlink(missing_ok=True)
for path in folder.iterdir():
    path.chmod(0o444)
folder.chmod(mode)
if os.getuid() == 0:
    os.setuid(65_534)
assert not os.access(folder / "runs.db", os.W_OK)
print("\\n--- from here on it is read only", flush=True)
print(*(int(main(command)) for command in commands))
"""


@pytest.fixture
def folder() -> Generator[Path]:
    """Where anybody may look; folders of tests are closed to others."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def codes(folder: Path, mode: str, *gone: str) -> tuple[set[str], str]:
    """The codes of the reading verbs where nothing can be written, and what was printed on stderr."""
    family(url_of(folder))
    ended = run([sys.executable, "-c", PROGRAM, str(folder), mode, *gone])
    assert ended.code == 0, ended.err
    return set(ended.out.splitlines()[-1].split()), ended.err


def test_reading_verbs_work_on_a_file_that_cannot_be_written(folder: Path) -> None:
    assert codes(folder, "777", "-shm", "-wal")[0] == {"0"}


def test_they_work_where_a_writer_keeps_the_file_open(folder: Path) -> None:
    assert codes(folder, "555")[0] == {"0"}


def test_a_folder_in_which_nobody_can_begin_to_read_is_told_with_the_cure(folder: Path) -> None:
    told, errors = codes(folder, "555", "-shm", "-wal")
    assert "Traceback" not in errors
    assert "write access to the file and to its folder" in errors
    assert told == {"1", "3"}
    assert [path.name for path in folder.iterdir()] == ["runs.db"]


@pytest.mark.parametrize("verb", READING, ids=" ".join)
def test_reading_changes_nothing(psych: Psych, tmp_path: Path, verb: list[str]) -> None:
    url = url_of(tmp_path)
    family(url)
    before = dump(tmp_path / "runs.db")
    assert psych(*verb, "--store", url).code == 0
    assert dump(tmp_path / "runs.db") == before
