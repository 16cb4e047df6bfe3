"""Every template, rendered: its tests pass, its README does what it says, its types hold."""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from psych_runtime.cli.rendering import template_names, templates
from tests.house.checkout import ROOT
from tests.kit import snippets
from tests.kit.command import BIN, run

NAME = "order_desk"
# What a README says it needs, and what the environment of these tests has already.
INSTALL = "pip install "


def test_each_template_is_tested_here() -> None:
    assert template_names() == ["minimal"]
    assert templates() == ROOT / "templates"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rendered template, in a folder of its own."""
    folder = tmp_path_factory.mktemp("rendered")
    assert run([str(BIN / "psych"), "new", NAME], cwd=folder).code == 0
    return folder / NAME


def test_it_runs_as_the_command_says(tmp_path: Path) -> None:
    ended = run("psych new demo && cd demo && python main.py", cwd=tmp_path)
    assert ended.code == 0
    assert ended.out.endswith("Order A1 has shipped.\ntokens: 20 in, 10 out; cost: unknown\n")
    assert ended.err == "a scripted model answers; README.md says how to put a real one in its place\n"


def test_the_next_steps_work_as_printed(tmp_path: Path) -> None:
    said = run([str(BIN / "psych"), "new", "My-Agent_2"], cwd=tmp_path).out
    commands = [line.strip() for line in said.partition("next:\n")[2].splitlines()]
    assert run(" && ".join(commands), cwd=tmp_path).out.startswith("Order A1 has shipped.\n")


def test_its_tests_pass(project: Path) -> None:
    ended = run([sys.executable, "-m", "pytest", "-q"], cwd=project)
    assert re.search(r"\b3 passed\b", ended.out), ended.out


def test_its_tests_fail_when_the_tool_is_wrong(project: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    assert run(f"cp -r {project} {broken}").code == 0
    agent = broken / NAME / "agent.py"
    agent.write_text(agent.read_text().replace('"A1": "shipped"', '"A1": "lost"'))
    assert "1 failed, 2 passed" in run([sys.executable, "-m", "pytest", "-q"], cwd=broken).out


def test_every_command_of_its_readme_prints_what_it_says(project: Path) -> None:
    steps = snippets.steps(project / "README.md")
    for step in steps:
        if not step.command.startswith(INSTALL):
            ended = run(f"{step.command} 2>&1", cwd=project)
            assert snippets.agree(step.printed, ended.out), f"$ {step.command}\n{ended.out}"
            assert ended.code == 0
    assert len(steps) == 9


def test_the_line_it_prints_shows_the_run(project: Path) -> None:
    printed = run(["python", "main.py"], cwd=project, env={"PSYCH_STORE_URL": "sqlite:///some where.db"}).out
    shown = run(printed.splitlines()[-1], cwd=project)
    assert shown.code == 0
    assert "  answer      Order A1 has shipped." in shown.out


def test_every_python_block_of_its_readme_prints_what_it_says(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    ran = list(snippets.python(project / "README.md"))
    for block, said, printed in ran:
        assert snippets.agree(said, printed), f"line {block.line}: {printed}"
    assert [bool(said) for _, said, _ in ran] == [True]


def test_it_is_named_as_it_was_told(project: Path) -> None:
    texts = {path: path.read_text() for path in text_files(project)}
    assert not [path for path, text in texts.items() if re.search("psych-?project", text, re.IGNORECASE)]
    assert "class OrderDeskOrder" in texts[project / NAME / "agent.py"]
    settings = tomllib.loads(texts[project / "pyproject.toml"])
    assert settings["project"]["name"] == NAME
    assert settings["tool"]["uv"]["build-backend"] == {"module-name": NAME, "module-root": ""}
    assert settings["project"]["dependencies"] == [f"psych-runtime=={metadata.version('psych-runtime')}"]


def test_no_file_of_it_is_longer_than_150_lines(project: Path) -> None:
    assert not [path for path in text_files(project) if len(path.read_text().splitlines()) > 150]


def text_files(project: Path) -> Iterator[Path]:
    """What was rendered; what running it has left is no part of it."""
    made = {".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__"}
    for path in project.rglob("*"):
        if path.is_file() and not made & set(path.parts) and ".db" not in path.name:
            yield path
