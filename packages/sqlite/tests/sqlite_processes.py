"""Children of a test: started, spoken to, killed, and awaited."""

import multiprocessing
from collections.abc import Generator
from contextlib import contextmanager

from packages.sqlite.tests import sqlite_children

# A server that has imported all there is forks them: to start one costs milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([sqlite_children.__name__])


class Child:
    """A running program of `sqlite_children`."""

    def __init__(self, program: str, *arguments: object) -> None:
        self._pipe, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(
            target=sqlite_children.run, args=(theirs, program, *map(str, arguments)), daemon=True
        )
        self._process.start()
        theirs.close()

    def line(self) -> str:
        """What it says next, "" when it is gone."""
        try:
            line: str = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            return ""
        return line

    def say(self, line: str = "") -> None:
        self._pipe.send(line)

    def kill(self) -> list[str]:
        """Kill it as the system would; what it said until then."""
        self._process.kill()
        return self.rest()

    def rest(self) -> list[str]:
        """All it says until it ends."""
        lines = list(iter(self.line, ""))
        self._process.join()
        return lines

    def finish(self) -> list[str]:
        """All it says until it ends well."""
        lines = self.rest()
        assert self._process.exitcode == 0
        return lines

    def is_silent(self, seconds: float) -> bool:
        """Whether it says nothing for so long."""
        return not self._pipe.poll(seconds)

    def end(self) -> None:
        """Leave nothing behind."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()


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
