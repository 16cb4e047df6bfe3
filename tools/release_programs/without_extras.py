"""Run where `psych-runtime` is installed alone: little is loaded, every verb answers, each template runs."""

import contextlib
import io
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import psych_runtime

LOADED = {name.partition(".")[0] for name in sys.modules}
HEAVY = {"anyio", "httpcore2", "httpx2", "hypothesis", "pydantic", "pytest", "sqlalchemy", "sqlite3"}
VERSION = metadata.version("psych-runtime")
STORE = ("--store", "sqlite:///runs.db")
TYPE = f"pip install --no-index --find-links dist 'psych-runtime[sqlite]=={VERSION}'"
# What a verb wants beside its flags, where it wants something.
GIVEN = {
    "new": ["demo"],
    "show": ["run_1"],
    "log export": ["run_1"],
    "log import": [__file__],
    "log verify": ["--all"],
}


def main() -> None:
    """Raise on the first thing that is not as promised."""
    assert psych_runtime.__name__ in LOADED
    assert not LOADED & HEAVY, LOADED & HEAVY
    said = subprocess.run(["psych", "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"psych {VERSION}\n", said
    every_verb_answers()
    every_template_runs()


def every_verb_answers() -> None:
    """With help; and by what it does, or by what to type before it can."""
    from psych_runtime.cli.verbs import VERBS

    Path("runs.db").touch()
    for verb in VERBS:
        words, given = verb.words.split(), GIVEN.get(verb.words, [])
        code, said = psych(*words, "--help")
        assert (code, said.startswith("usage: ")) == (0, True), said
        if verb.of_store and verb.words != "doctor":
            code, said = psych(*words, *given, *STORE)
            assert (code, TYPE in said) == (1, True), said
        else:
            code, said = psych(*words, *given)
            assert code == 0, said


def every_template_runs() -> None:
    """A project of each, with nothing beside this library; each install that it names is of this release."""
    from psych_runtime.cli.rendering import template_names

    for template in template_names():
        code, said = psych("new", f"my-{template}", "--template", template)
        assert code == 0, said
        project = Path(f"my-{template}")
        command = [sys.executable, "main.py"]
        ran = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
        assert ran.stdout, ran.stderr
        for written in ("README.md", "pyproject.toml"):
            check_pins((project / written).read_text())


def psych(*arguments: str) -> tuple[int, str]:
    """How the command ends, and all that it prints."""
    from psych_runtime.cli import main as command

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = command(arguments)
    check_pins(printed.getvalue())
    return code, printed.getvalue()


def check_pins(text: str) -> None:
    """Refuse the name of the package in an install without the number of this release."""
    for line in re.findall(r".*pip install.*psych-runtime.*", text):
        assert f"=={VERSION}" in line, line


main()
