"""`psych new`: which names it takes, what it writes, and when it writes nothing."""

import errno
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.cli import rendering
from psych_runtime.cli.exits import CommandError
from psych_runtime.cli.naming import Names, names_of
from psych_runtime.cli.new import next_steps
from psych_runtime.cli.placing import place
from psych_runtime.cli.rendering import render, template_names
from tests.kit.command import Psych, run

PLAIN = {"main.py": b"print(1)\n", "demo/agent.py": b"x = 1\n"}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path) -> dict[str, str]:
    """Every file under a folder."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("demo", Names("demo", "demo", "Demo")),
        ("apps/My_Agent-2", Names("My_Agent-2", "my_agent_2", "MyAgent2")),
        ("orderDesk", Names("orderDesk", "orderdesk", "OrderDesk")),
        ("a-", Names("a", "a_", "A")),
        ("A" * 64, Names("A" * 64, "a" * 64, "A" * 64)),
    ],
)
def test_the_names_of_a_project_follow_from_its_folder(name: str, names: Names) -> None:
    assert names_of(name) == names


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,63}", fullmatch=True))
def test_every_name_that_is_taken_can_be_imported(name: str) -> None:
    try:
        names = names_of(name)
    except CommandError:
        return
    assert names.package.isidentifier()
    assert f"{names.class_prefix}Order".isidentifier()
    assert names.project[-1].isalnum()


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x y", "1st", "-x", "_x", "a.b", "a" * 65, "naïve", "x\n"),
        *("class", "json", "Json", "psych_runtime", "psych-runtime-extra", "main", "tests", "pydantic"),
    ],
)
def test_a_name_that_would_not_work_writes_nothing(psych: Psych, tmp_path: Path, name: str) -> None:
    ended = psych("new", "--", name)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("psych: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_a_file_or_a_folder_in_the_way_is_left_alone(psych: Psych, tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    before = written(tmp_path)
    for name in ("file", "full"):
        ended = psych("new", name, *flags)
        assert (ended.code, ended.out) == (1, "")
    assert psych("new", "file", "--force", *flags).code == 1
    assert written(tmp_path) == before


def test_a_template_that_there_is_not_names_those_there_are(psych: Psych, tmp_path: Path) -> None:
    ended = psych("new", "demo", "--template", "../minimal")
    assert ended.code == 2
    assert ended.err.splitlines()[1] == "try: --template with one of: adapter, minimal"
    assert not list(tmp_path.iterdir())


def test_a_project_is_written_and_told(psych: Psych, tmp_path: Path) -> None:
    ended = psych("new", "apps/demo")
    files, steps = ended.out.split("\n\nnext:\n")
    assert (ended.code, ended.err) == (0, "")
    assert [line.split() for line in files.splitlines()] == [
        ["created", f"apps/demo/{name}"] for name in written(tmp_path / "apps" / "demo")
    ]
    assert steps.splitlines()[0] == "  cd apps/demo"
    assert [path.name for path in (tmp_path / "apps").iterdir()] == ["demo"], "nothing is left beside it"


def test_a_project_in_json_is_one_document(psych: Psych, tmp_path: Path) -> None:
    document = psych("new", "demo", "--json").document()
    assert list(document) == ["schema", "path", "template", "files", "next"]
    assert (document["schema"], document["path"], document["template"]) == ("psych.new/1", "demo", "minimal")
    assert {file["path"]: file["action"] for file in document["files"]} == dict.fromkeys(
        written(tmp_path / "demo"), "created"
    )


def test_an_empty_folder_is_filled(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    assert psych("new", "demo").code == 0
    assert "main.py" in written(tmp_path / "demo")


def test_force_overwrites_only_what_the_template_has(psych: Psych, tmp_path: Path) -> None:
    assert psych("new", "demo").code == 0
    fresh = written(tmp_path / "demo")
    (tmp_path / "demo" / "main.py").write_text("mine")
    (tmp_path / "demo" / "README.md").unlink()
    (tmp_path / "demo" / "notes").write_text("mine")
    actions = {
        file["path"]: file["action"] for file in psych("new", "demo", "--force", "--json").document()["files"]
    }
    assert actions == {**dict.fromkeys(fresh, "same"), "main.py": "overwritten", "README.md": "created"}
    assert written(tmp_path / "demo") == {**fresh, "notes": "mine"}


def test_the_next_step_names_python_as_it_is_found_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert next_steps(Path("a b")) == ["cd 'a b'", "python main.py"]
    (tmp_path / "python").write_text("#!/bin/sh\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert next_steps(Path("demo"))[1] == f"{shlex.quote(sys.executable)} main.py"


def test_rendering_replaces_three_words_in_names_and_texts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    template = tmp_path / "odd"
    (template / "psychproject" / "__pycache__").mkdir(parents=True)
    (template / ".ruff_cache").mkdir()
    (template / "pyproject.toml").write_text('name = "psych-project"  # psych-projects, Psychproject\n')
    (template / "psychproject" / "psychproject_x.py").write_text("class PsychProjectOrder: ...\n")
    (template / "psychproject" / "__pycache__" / "x.pyc").write_bytes(b"\xff")
    for name in ("gitignore", "dockerignore", "env", ".ruff_cache/x"):
        (template / name).touch()
    monkeypatch.setattr(rendering, "templates", lambda: tmp_path)
    assert template_names() == ["odd"]
    assert {str(path): text.decode() for path, text in render("odd", names_of("psychproject-2")).items()} == {
        ".dockerignore": "",
        ".env": "",
        ".gitignore": "",
        "psychproject_2/psychproject_2_x.py": "class Psychproject2Order: ...\n",
        "pyproject.toml": 'name = "psychproject-2"  # psychproject-2s, Psychproject\n',
    }


# --- all or nothing ---------------------------------------------------------------------------------


class DiskFull(OSError):
    """There is no room left."""


@pytest.mark.parametrize("exists", [False, True], ids=["a new folder", "an old folder"])
@pytest.mark.parametrize("number", [1, 2], ids=["at the first file", "at the last file"])
def test_a_full_disk_leaves_everything_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exists: bool, number: int
) -> None:
    if exists:
        place({"main.py": b"old\n"}, tmp_path / "demo", force=False)
    before, write, writes = written(tmp_path), Path.write_bytes, 0

    def write_some(path: Path, content: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes == number:
            write(path, content[:3])
            raise DiskFull
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_some)
    with pytest.raises(DiskFull):
        place(PLAIN, tmp_path / "demo", force=True)
    assert written(tmp_path) == before
    assert not list(tmp_path.rglob(".psych-*"))


@pytest.mark.parametrize(
    "moment", ["Path.write_bytes", "Path.rename"], ids=["while it is written", "before it appears"]
)
def test_a_kill_leaves_no_half_of_a_project(tmp_path: Path, moment: str) -> None:
    kill = f"{moment} = lambda *_: os.kill(os.getpid(), 9)"
    imports = "import os; from pathlib import Path; from psych_runtime.cli import main"
    program = f"{imports}; {kill}; main(['new', 'demo'])"
    assert run([sys.executable, "-c", program], cwd=tmp_path).code == -9
    assert not (tmp_path / "demo").exists()


def folder_for_a_file(demo: Path) -> None:
    (demo / "main.py").mkdir()


def file_for_a_folder(demo: Path) -> None:
    (demo / "demo").touch()


def link_that_leads_out(demo: Path) -> None:
    (demo / "demo").symlink_to(demo.parent)


@pytest.mark.parametrize(
    ("obstacle", "says"),
    [
        (folder_for_a_file, "is a folder"),
        (file_for_a_folder, "is a file"),
        (link_that_leads_out, "leads out of"),
    ],
)
def test_what_cannot_be_overwritten_is_refused_before_anything_is_written(
    tmp_path: Path, obstacle: Callable[[Path], None], says: str
) -> None:
    demo = tmp_path / "demo"
    demo.mkdir()
    obstacle(demo)
    before = written(tmp_path)
    with pytest.raises(CommandError, match=says):
        place(PLAIN, demo, force=True)
    assert written(tmp_path) == before


def test_a_link_to_a_file_elsewhere_is_replaced_and_that_file_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "main.py").symlink_to(tmp_path / "precious")
    place(PLAIN, tmp_path / "demo", force=True)
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "demo" / "main.py").read_text() == "print(1)\n"


@pytest.mark.parametrize("links", [True, False], ids=["with links", "without"])
def test_a_file_that_appears_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    demo = tmp_path / "demo"
    demo.mkdir()
    linked = os.link

    def link(staged: Path, target: Path) -> None:
        (demo / "main.py").write_text("theirs")
        if not links:
            raise PermissionError(errno.EPERM, "no links here")
        linked(staged, target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(FileExistsError):
        place({"main.py": b"ours"}, demo, force=False)
    assert written(demo) == {"main.py": "theirs"}
    assert not list(tmp_path.rglob(".psych-*"))


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(_staged: Path, _target: Path) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", link)
    (tmp_path / "demo").mkdir()
    place(PLAIN, tmp_path / "demo", force=False)
    assert len(written(tmp_path / "demo")) == len(PLAIN)
