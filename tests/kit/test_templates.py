"""Every template, rendered: it runs, its README does what it says, its tests and types hold."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from psych_runtime.cli.rendering import template_names, templates
from tests.house.checkout import ROOT
from tests.kit import snippets
from tests.kit.command import BIN, run
from tests.kit.readme import DIST, INSTALL
from tests.kit.rendering import NAME, Rendered, rendered

SCRIPTED = "a scripted model answers; with OPENAI_API_KEY a real one does\n"
# What is tried in an environment of its own, where the whole README is, by `make release-check`.
ELSEWHERE = {"python -m pytest", "mypy", "pyright"}


@dataclass(frozen=True)
class Facts:
    """What is so of one template: what `python main.py` prints, how many commands its README has."""

    prints: str
    commands: int
    needs: str
    defines: str


FACTS = {
    "adapter": Facts(
        "It holds.\n6 entries, and nobody has changed one\n", 10, "testing", "class OrderDeskStore:"
    ),
    "minimal": Facts(
        "Order A1 has shipped.\ntokens: 20 in, 10 out; cost: unknown\n",
        9,
        "sqlite",
        "class OrderDeskOrder(TypedDict):",
    ),
}
EVERY = pytest.mark.parametrize("template", FACTS)
STEPS = [
    pytest.param(template, number, id=f"{template}: {step.command}")
    for template in FACTS
    for number, step in enumerate(snippets.steps(ROOT / "templates" / template / "README.md"))
    if not step.command.startswith(INSTALL) and step.command not in ELSEWHERE
]


def test_each_template_is_tested_here() -> None:
    assert template_names() == sorted(FACTS)
    assert templates() == ROOT / "templates"


@pytest.fixture(scope="module")
def project_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Rendered]:
    """Each template, rendered once."""

    @cache
    def once(template: str) -> Rendered:
        return rendered(template, tmp_path_factory.mktemp(template))

    return once


@pytest.fixture
def project(template: str, project_of: Callable[[str], Rendered]) -> Rendered:
    """The one that this test is about."""
    return project_of(template)


@EVERY
def test_it_runs_as_the_command_says(template: str, tmp_path: Path) -> None:
    ended = run(f"psych new demo --template {template} && cd demo && python main.py", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, SCRIPTED)
    assert ended.out.endswith(f"python main.py\n{FACTS[template].prints}")


@EVERY
def test_the_next_steps_work_as_printed(template: str, tmp_path: Path) -> None:
    said = run([str(BIN / "psych"), "new", "My-Agent_2", "--template", template], cwd=tmp_path).out
    commands = [line.strip() for line in said.partition("next:\n")[2].splitlines()]
    assert run(" && ".join(commands), cwd=tmp_path).out == FACTS[template].prints


@pytest.mark.parametrize(("template", "number"), STEPS)
def test_every_command_of_its_readme_prints_what_it_says(project: Rendered, number: int) -> None:
    step = snippets.steps(project.project / "README.md")[number]
    ended = project.run(f"{step.command} 2>&1")
    assert snippets.agree(step.printed, ended.out), f"$ {step.command}\n{ended.out}"
    assert ended.code == 0


@EVERY
def test_its_readme_has_the_commands_that_check_it(project: Rendered, template: str) -> None:
    commands = [step.command for step in snippets.steps(project.project / "README.md")]
    assert len(commands) == FACTS[template].commands
    assert {"python main.py", "ruff check .", *ELSEWHERE} <= set(commands)
    installs = [command for command in commands if command.startswith(INSTALL)]
    assert [DIST in command for command in installs] == [True, True, False]
    assert [command.rpartition(" ")[2] for command in installs[1:]] == [
        f"'psych-runtime[{FACTS[template].needs}]=={metadata.version('psych-runtime')}'",
        "'.[dev]'",
    ]


@EVERY
def test_its_types_are_checked_strictly(project: Rendered) -> None:
    tools = tomllib.loads((project.project / "pyproject.toml").read_text())["tool"]
    everything = ["main.py", NAME, "tests"]
    assert tools["mypy"] == {"files": everything, "python_version": "3.11", "strict": True}
    assert tools["pyright"]["include"] == everything
    assert tools["pyright"]["typeCheckingMode"] == "strict"


@EVERY
def test_what_checks_it_is_installed_with_it(project: Rendered) -> None:
    settings = tomllib.loads((project.project / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[\[>=]", need)[0] for need in settings["optional-dependencies"]["dev"]}
    assert wanted == {"psych-runtime", "mypy", "pyright", "pytest", "ruff"}


@EVERY
def test_it_is_named_as_it_was_told(project: Rendered, template: str) -> None:
    texts = {path: path.read_text() for path in project.texts()}
    assert not [path for path, text in texts.items() if re.search("psych-?project", text, re.IGNORECASE)]
    assert any(FACTS[template].defines in text.splitlines() for text in texts.values())
    settings = tomllib.loads(texts[project.project / "pyproject.toml"])
    assert settings["project"]["name"] == NAME
    assert settings["tool"]["uv"]["build-backend"] == {"module-name": NAME, "module-root": ""}
    assert settings["project"]["dependencies"] == [f"psych-runtime=={metadata.version('psych-runtime')}"]


@EVERY
def test_no_file_of_it_is_longer_than_150_lines(project: Rendered) -> None:
    assert not [path for path in project.texts() if len(path.read_text().splitlines()) > 150]


@EVERY
def test_it_shows_the_one_line_that_makes_it_durable(project: Rendered) -> None:
    line = re.sub(r"\s+", " ", (project.project / "main.py").read_text()).replace(",)", ")")
    assert re.search(r"async with \(? ?open_store\(STORE_URL, migrate=True\) as store, session\(", line)
    assert 'STORE_URL = os.environ.get("PSYCH_STORE_URL", ' in line
