"""The `psych` command, run in this process or in one of its own."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from psych_runtime.cli import main
from psych_runtime.cli.schemas import document_schema

BIN = Path(sys.executable).parent
PSYCH = str(BIN / "psych")
# What would change how the command behaves.
UNSET = (
    *("PSYCH_STORE_URL", "PSYCH_MODEL", "PSYCH_BASE_URL", "OPENAI_API_KEY", "NO_COLOR", "FORCE_COLOR"),
    *("PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"),
)


class Ended(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout, which is as it is published."""
        return checked(json.loads(self.out))

    def error(self) -> dict[str, Any]:
        """What the one JSON document on stderr says of an error."""
        document = checked(json.loads(self.err))
        assert document["schema"] == "psych.error/1"
        error: dict[str, Any] = document["error"]
        return error


def checked(document: dict[str, Any]) -> dict[str, Any]:
    """A document that fits its published schema and has no key beside."""
    schema = published(document["schema"])
    jsonschema.validate(document, schema)
    assert document.keys() == schema["properties"].keys()
    return document


published = cache(document_schema)


class Psych:
    """Runs the command in this process: most of what it does needs no other one."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ended:
        self._capsys.readouterr()
        code = main(arguments)
        printed = self._capsys.readouterr()
        return Ended(code, printed.out, printed.err)


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command: `.venv` first on PATH, and nothing set that it reads but `changes`."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return {**kept, "PATH": f"{BIN}{os.pathsep}{kept.get('PATH', '')}", **(changes or {})}


def run(
    command: Sequence[str] | str,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = 60,
) -> Ended:
    """Run a program, or a line of shell, to its end."""
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def on_a_terminal(*arguments: str, **changes: str) -> bytes:
    """What the command prints on a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen([PSYCH, *arguments], stdout=its, env=environment({"TERM": "xterm", **changes}))
    os.close(its)
    printed = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end was closed
        while part := os.read(ours, 65_536):
            printed += part
    os.close(ours)
    assert process.wait() == 0
    return printed


@contextlib.contextmanager
def going_on(*arguments: str) -> Generator[subprocess.Popen[str]]:
    """The command in a process that is still at it; it is ended when the block is left."""
    with subprocess.Popen(
        [PSYCH, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # Below a shell's `&` a program ignores Ctrl-C, and so does all that it starts.
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - the child does nothing else before it is psych
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def heed_interrupts() -> None:
    """Let SIGINT end this process, as a terminal's does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What it prints, up to the line that holds `text`."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"it ended without {text!r}: {seen}")


def read_rest(process: subprocess.Popen[str]) -> Ended:
    """How it ends, and what it prints until then. `communicate` would miss what was read ahead."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    return Ended(process.wait(), out, err)
