"""The documents say what is so: their blocks run, their tables are the code's, their links lead somewhere."""

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import docs
from tests.house.checkout import ROOT, files, version
from tests.kit import snippets
from tests.kit.command import run

README = ROOT / "README.md"
DOCUMENTS = [ROOT / path for path in files() if path.suffix == ".md" and path.parts[0] != "templates"]


def of_each(documents: Sequence[Path]) -> pytest.MarkDecorator:
    """Once a document."""
    return pytest.mark.parametrize("document", documents, ids=lambda path: str(path.relative_to(ROOT)))


EVERY = of_each(DOCUMENTS)
PASTED = of_each([each for each in DOCUMENTS if "`python -m asyncio`" in each.read_text()])

# What differs from one demo to the next.
CHANCE = re.compile(r"(?<=run_)[0-9a-f]{36}|(?<=psych-demo-)\w+")
# What is not run is read, or drawn.
PARSED: Mapping[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "text": str,
    "mermaid": str,
}


@EVERY
def test_every_block_prints_what_is_said(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The commands of the README build, install and take the demo: their tests stand below.
    for played in snippets.play(document, tmp_path, commands=document != README):
        assert played.agrees, f"{document}:{played.place.line}: {played.printed}"


@EVERY
def test_every_other_block_can_be_read(document: Path) -> None:
    for block in snippets.blocks(document):
        if block.language not in {"python", "console"}:
            PARSED[block.language](block.text)


@PASTED
def test_every_python_block_can_be_pasted_where_its_page_says(document: Path) -> None:
    """But for suites: those are for a file that pytest collects."""
    typed = [each for each in snippets.blocks(document) if each.language == "python"]
    torn = {each.line: snippets.torn(each) for each in typed if "class Test" not in each.text}
    assert {line: text for line, text in torn.items() if text is not None} == {}


def test_the_smallest_program_prints_these_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    ((_, said, printed),) = list(snippets.python(README))
    answer, totals = printed.splitlines()
    assert said
    assert answer == "A1 has shipped."
    assert totals.startswith("completed input=10 output=5 ")
    assert totals.endswith(" None")


def test_the_readme_shows_what_the_demo_prints() -> None:
    (shown,) = [step.printed for step in snippets.steps(README) if step.command == "make demo"]
    ended = run([".venv/bin/python", "tools/demo.py"], cwd=ROOT)
    assert ended.code == 0, ended.err
    assert CHANCE.sub("…", ended.out) == CHANCE.sub("…", shown)


def test_every_other_command_of_the_readme_prints_what_is_said(tmp_path: Path) -> None:
    rest = [step for step in snippets.steps(README) if step.command not in {"make demo", *snippets.ELSEWHERE}]
    install, *others = sorted(rest, key=lambda step: not step.command.startswith("pip install"))
    assert install.command == (
        f"pip install --no-index --find-links dist 'psych-runtime[sqlite]=={version()}'"
    ), "from our own wheels, never from an index"
    for step in others:
        ended = run(f"{step.command} 2>&1", cwd=tmp_path)
        assert snippets.agree(step.printed, ended.out), f"$ {step.command}\n{ended.out}"
    assert others


def test_what_the_readme_takes_away_is_ours_and_no_more(tmp_path: Path) -> None:
    (command,) = re.findall(r"`(pip freeze [^`]*)`", README.read_text())
    pip = tmp_path / "pip"
    ours = ["psych-runtime", "psych-runtime-core", "psych-runtime-sqlite"]
    listed = "anyio==4.11.0\\npsych-runtime==0.1.0\\npsych-runtime-core @ file:///d/psych_runtime_core.whl\\n"
    listed += "psych-runtime-sqlite==0.1.0\\nmy-psych-runtime==1.0\\n"
    pip.write_text(f"#!/bin/sh\n[ $1 = freeze ] && printf '{listed}' || echo $@\n")
    pip.chmod(0o755)
    ended = run(command, cwd=tmp_path, env={"PATH": f"{tmp_path}:{os.defpath}"})
    assert ended.out.split() == ["uninstall", "--yes", *ours]


@EVERY
def test_no_document_installs_all_that_a_folder_holds(document: Path) -> None:
    """An extra that nobody asked for would come without what it needs."""
    assert not re.findall(r"`pip install[^`]*\*[^`]*`", document.read_text())


def test_the_readme_can_be_read_at_one_sitting() -> None:
    assert len(README.read_text().splitlines()) <= 150


@EVERY
def test_a_made_part_is_what_the_code_makes_of_it(document: Path) -> None:
    assert docs.renewed(document.read_text()) == document.read_text(), "run .venv/bin/python tools/docs.py"


def test_every_part_that_is_made_stands_in_a_document() -> None:
    made = {
        name
        for document in DOCUMENTS
        for name in docs.PART.findall(document.read_text())
        for name in name[1:2]
    }
    assert made == set(docs.PARTS)


def test_a_part_out_of_date_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    monkeypatch.setattr(docs, "DOCUMENTS", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- made by tools/docs.py: run-table -->\nold\n<!-- end -->\nb\n")
    assert docs.main(["--check"]) == 1
    assert "old" in page.read_text()
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
    assert "| `run_admitted` | yes | admitted_twice |" in page.read_text()


@EVERY
def test_every_link_leads_to_a_file_of_this_project(document: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]+)", document.read_text())
    assert not [link for link in links if not (document.parent / link).exists()]


@EVERY
def test_every_path_that_is_named_is_there(document: Path) -> None:
    named = re.findall(
        r"`((?:packages|tools|tests|docs|templates|benchmarks)/[\w./-]*)`", document.read_text()
    )
    assert not [path for path in named if "NAME" not in path and not (ROOT / path).exists()]


@pytest.mark.parametrize(
    ("said", "printed", "agrees"),
    [
        ("a\n…\nc", "a\nb\nb\nc\n", True),
        ("run_… --store x", "run_123 --store x", True),
        ("", "", True),
        ("", "something", False),
        ("a", "a b", False),
        ("a.c", "abc", False),
    ],
)
def test_what_agrees(said: str, printed: str, agrees: bool) -> None:
    assert snippets.agree(said, printed) is agrees
