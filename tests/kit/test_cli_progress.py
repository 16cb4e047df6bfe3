"""Progress: only where work takes long, on stderr, and in a form that fits who looks."""

import io
import sys
from collections.abc import Callable

import pytest

from psych_runtime.cli import progress
from psych_runtime.cli.output import Output
from psych_runtime.cli.progress import Progress


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def told(
    patch: pytest.MonkeyPatch, clock: Clock, stderr: io.StringIO, output: Output, steps: int, pause: float
) -> str:
    """What is told of work of so many steps, with a pause before each."""
    patch.setattr(sys, "stderr", stderr)
    with Progress(output, "logs", steps) as going:
        for _ in range(steps):
            clock.now += pause
            going.advance()
    return stderr.getvalue()


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    assert told(monkeypatch, clock, Terminal(), Output(), 9, 0.1) == ""
    assert told(monkeypatch, clock, io.StringIO(), Output(), 9, 1.1) == ""


def test_a_terminal_has_one_line_redrawn_ten_times_a_second_at_most(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    shown = told(monkeypatch, clock, Terminal(), Output(), 300, 0.01)
    drawn = shown.split("\r")[1:]
    assert 19 <= len(drawn) - 2 <= 21, "for two of the three seconds"
    assert drawn[0] == "psych: 100 of 300 logs, 100.0 a second"
    assert drawn[-2].strip() == ""
    assert drawn[-1] == "", "the line is taken away at the end"
    assert "\n" not in shown
    assert "\x1b" not in shown


def test_elsewhere_there_is_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    assert told(monkeypatch, clock, io.StringIO(), Output(), 50, 0.5).splitlines() == [
        "psych: 20 of 50 logs, 2.0 a second",
        "psych: 40 of 50 logs, 2.0 a second",
    ]


def test_a_total_that_nobody_knows_is_not_told(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with Progress(Output(), "Runs") as going:
        clock.now += 20
        going.advance(5)
    assert stderr.getvalue() == "psych: 5 Runs, 0.2 a second\n"


@pytest.mark.parametrize(
    ("output", "stderr"),
    [
        pytest.param(Output(quiet=True), Terminal, id="quiet, on a terminal"),
        pytest.param(Output(quiet=True), io.StringIO, id="quiet"),
        pytest.param(Output(json=True), io.StringIO, id="parsed"),
    ],
)
def test_who_asked_for_none_gets_none(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, output: Output, stderr: Callable[[], io.StringIO]
) -> None:
    assert told(monkeypatch, clock, stderr(), output, 50, 1.0) == ""


def test_results_and_progress_never_share_a_line(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with Progress(Output(), "logs") as going:
        clock.now += 2
        going.advance()
        going.clear()
        assert stderr.getvalue().endswith(" \r")
        before = stderr.getvalue()
        going.clear()
        assert stderr.getvalue() == before


def test_nobody_listening_is_no_failure(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with Progress(Output(quiet=True), "logs") as going:
        clock.now += 20
        going.advance()
