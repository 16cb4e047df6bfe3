"""Children of a test: started, spoken to, killed, and awaited."""

import select
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[3]


class Child:
    """A running program of `sqlite_children`."""

    def __init__(self, program: str, *arguments: object) -> None:
        module = "packages.sqlite.tests.sqlite_children"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, program, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """What it says next, "" when it is gone."""
        return self._pipe(self._process.stdout).readline().strip()

    def say(self, line: str = "") -> None:
        stdin = self._pipe(self._process.stdin)
        stdin.write(f"{line}\n")
        stdin.flush()

    def kill(self) -> list[str]:
        """Kill it as the system would; what it said until then."""
        self._process.kill()
        return self.rest()

    def rest(self) -> list[str]:
        """All it says until it ends."""
        lines = self._pipe(self._process.stdout).read().splitlines()
        self._process.wait()
        return lines

    def finish(self) -> list[str]:
        """All it says until it ends well."""
        lines = self.rest()
        assert self._process.returncode == 0
        return lines

    def is_silent(self, seconds: float) -> bool:
        """Whether it says nothing for so long."""
        return not select.select([self._pipe(self._process.stdout)], [], [], seconds)[0]

    def end(self) -> None:
        """Leave nothing behind."""
        self._process.kill()
        self._process.wait()
        self._pipe(self._process.stdin).close()
        self._pipe(self._process.stdout).close()

    def _pipe(self, pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


@contextmanager
def children(*runs: tuple[object, ...]) -> Generator[list[Child]]:
    """Programs that run until the block is left."""
    started: list[Child] = []
    try:
        for program, *arguments in runs:
            started.append(Child(str(program), *arguments))
        yield started
    finally:
        for child in started:
            child.end()
