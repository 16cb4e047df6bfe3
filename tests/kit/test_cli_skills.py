"""`psych skills`: what is installed, updated, kept and removed, and that it is whole or can be finished."""

import json
import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.cli import skill_set
from psych_runtime.cli.documents import FileDone
from psych_runtime.cli.kit import PACKAGE
from psych_runtime.cli.shelf import digest, steps
from tests.kit.command import Psych, run

ALPHA = "---\nname: alpha\ndescription: What alpha is. Use when there is an alpha.\n---\n# Alpha\n"
BETA = "---\nname: beta\ndescription: >-\n  Folded, it is\n  one text! Use it.\n---\n"
SHIPPED = {"alpha/SKILL.md": ALPHA, "beta/SKILL.md": BETA, "beta/parts/one.md": "one"}


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The skills that come with the package, in this test; the present folder is empty."""
    ship(tmp_path / "kit", SHIPPED)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(skill_set, "skills", lambda: tmp_path / "kit")
    return tmp_path / "kit"


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "here" / ".agents" / "skills"


def ship(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def standing(folder: Path) -> dict[str, str]:
    """What stands in a folder, but for the manifest."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".psych-skills.json")
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def actions(psych: Psych, *flags: str) -> dict[str, str]:
    """What an install did, by file."""
    document = psych("skills", "install", "--json", *flags).document()
    return {file["path"]: file["action"] for file in document["files"]}


def states(psych: Psych) -> dict[str, str]:
    return {skill["name"]: skill["state"] for skill in psych("skills", "list", "--json").document()["skills"]}


def test_the_skills_are_listed_by_their_first_sentence(psych: Psych, kit: Path) -> None:
    ended = psych("skills", "list")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "alpha  absent  What alpha is.",
        "beta   absent  Folded, it is one text!",
    ]
    document = psych("skills", "list", "--json", "--dest", "there").document()
    assert (document["dest"], document["files"]) == ("there", None)
    assert document["skills"][0]["description"] == "What alpha is. Use when there is an alpha."


def test_the_first_install_writes_all_and_a_second_nothing(psych: Psych, kit: Path, dest: Path) -> None:
    assert psych("skills", "install", "--check").code == 3
    assert not dest.exists(), "a check wrote"
    assert actions(psych) == dict.fromkeys(SHIPPED, "created")
    assert standing(dest) == SHIPPED
    assert states(psych) == {"alpha": "current", "beta": "current"}
    assert actions(psych) == dict.fromkeys(SHIPPED, "same")
    assert psych("skills", "install", "--check").code == 0
    manifest = json.loads((dest / ".psych-skills.json").read_text())
    assert manifest["files"] == {name: sha256(text.encode()).hexdigest() for name, text in SHIPPED.items()}


def test_the_untouched_is_updated_the_edited_kept_and_the_dropped_removed(
    psych: Psych, kit: Path, dest: Path
) -> None:
    ship(kit, {"gone/SKILL.md": "---\n", "gone/deep/er.md": "x", "gone/edited.md": "x"})
    assert psych("skills", "install").code == 0
    (dest / "beta" / "SKILL.md").write_text("mine")
    (dest / "gone" / "edited.md").write_text("mine, too")
    (dest / "alpha" / "own.md").write_text("mine alone")
    for name in ("gone/SKILL.md", "gone/deep/er.md", "gone/edited.md"):
        (kit / name).unlink()
    ship(kit, {"alpha/SKILL.md": ALPHA + "new\n", "beta/SKILL.md": BETA + "new\n", "beta/new.md": "new"})
    assert states(psych) == {"alpha": "outdated", "beta": "edited"}
    wanted = {
        "alpha/SKILL.md": "updated",
        "beta/SKILL.md": "kept",
        "beta/parts/one.md": "same",
        "beta/new.md": "created",
        "gone/SKILL.md": "removed",
        "gone/deep/er.md": "removed",
        "gone/edited.md": "kept",
    }
    before = standing(dest)
    assert actions(psych, "--check") == wanted
    assert standing(dest) == before
    assert actions(psych) == wanted
    assert standing(dest) == {
        "alpha/SKILL.md": ALPHA + "new\n",
        "alpha/own.md": "mine alone",
        "beta/SKILL.md": "mine",
        "beta/parts/one.md": "one",
        "beta/new.md": "new",
        "gone/edited.md": "mine, too",
    }
    assert not (dest / "gone" / "deep").exists()
    assert psych("skills", "install", "--check").code == 0, "what is kept is no change"


def test_force_moves_an_edited_file_aside_first(psych: Psych, kit: Path, dest: Path) -> None:
    psych("skills", "install")
    (dest / "alpha" / "SKILL.md").write_text("mine")
    told = psych("skills", "install")
    assert "--force moves it to NAME.bak" in told.err
    assert psych("skills", "install", "--check", "--force").code == 3
    assert actions(psych, "--force")["alpha/SKILL.md"] == "replaced"
    assert standing(dest) == {**SHIPPED, "alpha/SKILL.md.bak": "mine"}
    assert states(psych)["alpha"] == "current"


def test_what_is_edited_back_is_updated_again(psych: Psych, kit: Path, dest: Path) -> None:
    psych("skills", "install")
    (dest / "alpha" / "SKILL.md").write_text("mine")
    ship(kit, {"alpha/SKILL.md": "new"})
    assert actions(psych)["alpha/SKILL.md"] == "kept"
    (dest / "alpha" / "SKILL.md").write_text(ALPHA)
    assert actions(psych)["alpha/SKILL.md"] == "updated"


def test_what_stands_there_already_is_recorded_or_kept(psych: Psych, kit: Path, dest: Path) -> None:
    ship(dest, {"alpha/SKILL.md": ALPHA, "beta/SKILL.md": "somebody's own"})
    assert actions(psych) == {
        "alpha/SKILL.md": "same",
        "beta/SKILL.md": "kept",
        "beta/parts/one.md": "created",
    }
    ship(kit, {"alpha/SKILL.md": "new"})
    assert actions(psych)["alpha/SKILL.md"] == "updated"


def test_no_skills_are_no_fault(
    psych: Psych, kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skill_set, "skills", lambda: tmp_path / "none")
    assert psych("skills", "list") == (0, "", "")
    assert psych("skills", "install").code == 0
    assert psych("skills", "install", "--check").code == 0


def test_they_stand_in_the_checkout_where_nothing_is_installed() -> None:
    assert skill_set.skills() in {PACKAGE / "_kit" / "skills", PACKAGE.parents[3] / ".agents" / "skills"}


# --- what is refused -------------------------------------------------------------------------------------


def link_of_a_folder(dest: Path, outside: Path) -> None:
    dest.mkdir(parents=True)
    (dest / "alpha").symlink_to(outside)


def link_of_a_file(dest: Path, outside: Path) -> None:
    (dest / "alpha").mkdir(parents=True)
    (dest / "alpha" / "SKILL.md").symlink_to(outside / "precious")


def folder_for_a_file(dest: Path, outside: Path) -> None:
    (dest / "alpha" / "SKILL.md").mkdir(parents=True)


def file_for_the_folder(dest: Path, outside: Path) -> None:
    dest.parent.mkdir()
    dest.touch()


def manifest_that_leads_out(dest: Path, outside: Path) -> None:
    dest.mkdir(parents=True)
    noted = {"../../../outside/precious": sha256(b"precious").hexdigest()}
    document = {"schema": "psych.installed-skills/1", "version": "1", "files": noted}
    (dest / ".psych-skills.json").write_text(json.dumps(document))


def manifest_of_another_kind(dest: Path, outside: Path) -> None:
    dest.mkdir(parents=True)
    (dest / ".psych-skills.json").write_text('{"schema": "psych.installed-skills/2", "files": {}}')


def manifest_that_is_none(dest: Path, outside: Path) -> None:
    dest.mkdir(parents=True)
    (dest / ".psych-skills.json").write_text("<<<<<<< HEAD")


@pytest.mark.parametrize(
    "obstacle",
    [
        link_of_a_folder,
        link_of_a_file,
        folder_for_a_file,
        file_for_the_folder,
        manifest_that_leads_out,
        manifest_of_another_kind,
        manifest_that_is_none,
    ],
    ids=lambda obstacle: obstacle.__name__,
)
@pytest.mark.parametrize("flags", [[], ["--force"]], ids=["install", "force"])
def test_what_is_in_the_way_is_refused_before_anything_is_written(
    psych: Psych, kit: Path, dest: Path, tmp_path: Path, obstacle: object, flags: list[str]
) -> None:
    outside = tmp_path / "outside"
    ship(outside, {"precious": "precious", "SKILL.md": "precious"})
    assert callable(obstacle)
    obstacle(dest, outside)
    before = standing(tmp_path)
    ended = psych("skills", "install", *flags)
    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 2
    assert standing(tmp_path) == before


# --- cut short -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replaced", range(4))
def test_an_install_that_was_cut_short_is_finished_by_another(
    psych: Psych, kit: Path, dest: Path, replaced: int
) -> None:
    psych("skills", "install")
    (dest / "beta" / "parts" / "one.md").write_text("mine")
    ship(kit, {"alpha/SKILL.md": "new", "beta/SKILL.md": "new", "beta/parts/one.md": "new"})
    program = (
        "import os; from itertools import count; from pathlib import Path;"
        "from psych_runtime.cli import main, skill_set;"
        f"skill_set.skills = lambda: Path({str(kit)!r}); replace, calls = os.replace, count();"
        f"os.replace = lambda *a: replace(*a) if next(calls) < {replaced} else os.kill(os.getpid(), 9);"
        "main(['skills', 'install', '--force'])"
    )
    assert run([sys.executable, "-c", program], cwd=dest.parents[1]).code == -9
    for name, text in standing(dest).items():
        assert text in {"new", "mine", "one", ALPHA, BETA}, f"half of {name}"
    assert psych("skills", "install", "--force").code == 0
    found = standing(dest)
    assert {name: found[name] for name in SHIPPED} == dict.fromkeys(SHIPPED, "new")
    assert found["beta/parts/one.md.bak"] == "mine"


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_full_disk_changes_nothing(
    psych: Psych, kit: Path, dest: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    psych("skills", "install")
    ship(kit, {"alpha/SKILL.md": "new", "beta/SKILL.md": "new", "beta/parts/one.md": "new"})
    before, write, writes = standing(dest), Path.write_bytes, 0

    def write_some(path: Path, content: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes == number:
            raise OSError(28, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_some)
    assert psych("skills", "install").code == 1
    monkeypatch.undo()
    assert standing(dest) == before
    assert os.listdir(dest.parent) == ["skills"]


# --- the plan --------------------------------------------------------------------------------------------

PLACE = "a/SKILL.md"
CONTENTS = st.sampled_from([None, b"old", b"new", b"mine"])


@given(ours=CONTENTS, noted=CONTENTS, found=CONTENTS, force=st.booleans())
def test_what_somebody_wrote_is_never_lost(
    ours: bytes | None, noted: bytes | None, found: bytes | None, force: bool
) -> None:
    files = {} if ours is None else {PLACE: ours}
    known = {} if noted is None else {PLACE: digest(noted)}
    there = {} if found is None else {PLACE: found}
    for step in steps(files, known, there, force=force):
        is_theirs = found is not None and found not in (noted, ours)
        assert not (is_theirs and step.action in {"created", "updated", "removed"})
        assert not (step.action == "replaced" and not force)
        assert step == FileDone(PLACE, step.action)


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("no front matter", ""),
        ("---\nname: x\n---\n", ""),
        ('---\ndescription: "Quoted: it is."\nname: x\n---\n', "Quoted: it is."),
        ("---\ndescription: |\n  One.\n  Two.\n---\n", "One. Two."),
    ],
)
def test_a_description_is_read_however_it_is_written(tmp_path: Path, text: str, description: str) -> None:
    ship(tmp_path, {"x/SKILL.md": text})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skill_set, "skills", lambda: tmp_path)
        (skill,) = skill_set.shipped()
    assert (skill.name, skill.description) == ("x", description)
