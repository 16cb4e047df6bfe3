"""Judges a checkout: each stage in order, its time, and what the first failing one said."""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bootstrap import ROOT, find_uv

Command = Sequence[str]
SCRIPTS = Path(sys.executable).parent
# Past so many times its budget a stage hangs.
PATIENCE = 4
HIDING = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Stage:
    """One thing to judge. `budget` is in seconds on two cores; past it the table warns."""

    name: str
    budget: float
    commands: tuple[Command, ...]
    tests: bool = False
    beside_next: bool = False


@dataclass
class Outcome:
    """What came of a stage: whether it holds, how long it took, and all it printed."""

    stage: Stage
    ok: bool = True
    seconds: float = 0.0
    output: str = ""
    closing: list[str] = field(default_factory=list[str])


def stages() -> tuple[Stage, ...]:
    """Every stage, in the order in which they are judged."""
    return (
        Stage("lock", 5, ((find_uv() or "uv", "lock", "--check"),)),
        Stage("style", 5, (module("ruff", "check", "."), module("ruff", "format", "--check", "."))),
        Stage("imports", 10, ((str(SCRIPTS / "lint-imports"), "--no-logo"),)),
        pytest_stage("house", 20, "tests/house"),
        Stage("types", 120, (module("mypy"), module("pyright")), beside_next=True),
        pytest_stage("unit", 120, *(str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("packages/*/tests")))),
        pytest_stage("contract", 180, "tests-contract/tests", "tests/stores"),
        pytest_stage("e2e", 200, "tests/e2e"),
        pytest_stage("kit", 90, "tests/kit"),
        Stage("wheels", 60, ((sys.executable, "tools/release_check.py"),)),
    )


def module(name: str, *arguments: str) -> Command:
    """A tool of `.venv`, run as a module."""
    return (sys.executable, "-m", name, *arguments)


def pytest_stage(name: str, budget: float, *paths: str) -> Stage:
    """A stage of tests, spread over the cores."""
    return Stage(name, budget, (module("pytest", "--no-header", "-n", "auto", *paths),), tests=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen stages; 0 when all hold."""
    options = parse(arguments)
    outcomes: list[Outcome] = []
    for together in groups(choose(stages(), options.only, options.start)):
        outcomes += judge(together)
        if not all(outcome.ok for outcome in outcomes) and not options.keep_going:
            break
    print_table(outcomes)
    return conclude(outcomes)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    names = [stage.name for stage in stages()]
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"stages: {' '.join(names)}")
    parser.add_argument("--only", metavar="STAGE,…", help="these stages alone")
    parser.add_argument(
        "--from", dest="start", metavar="STAGE", choices=names, help="this stage and all after it"
    )
    parser.add_argument("--keep-going", action="store_true", help="judge the rest after a failure too")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",") if options.only else names
    unknown = set(options.only) - set(names)
    if unknown:
        parser.error(f"no such stage: {' '.join(sorted(unknown))}; there are: {' '.join(names)}")
    return options


def choose(every: Sequence[Stage], only: Sequence[str], start: str | None) -> list[Stage]:
    """The stages named by `--only`, from `--from` on."""
    names = [stage.name for stage in every]
    first = names.index(start) if start else 0
    return [stage for stage in every[first:] if stage.name in only]


def groups(chosen: Sequence[Stage]) -> Iterator[list[Stage]]:
    """The stages that run at the same moment: one alone, or one with the one it goes beside."""
    together: list[Stage] = []
    for stage in chosen:
        together.append(stage)
        if not stage.beside_next:
            yield together
            together = []
    if together:
        yield together


def judge(together: Sequence[Stage]) -> list[Outcome]:
    """Run these stages at once and report them in order."""
    print(f"… {' '.join(stage.name for stage in together)}", flush=True)
    with ThreadPoolExecutor(max_workers=len(together)) as threads:
        outcomes = list(threads.map(run, together))
    for outcome in outcomes:
        report(outcome)
    return outcomes


def run(stage: Stage) -> Outcome:
    """Run a stage's commands until one fails. Its tests must have passed some: none is no proof."""
    began = time.monotonic()
    outcome = Outcome(stage)
    for command in stage.commands:
        outcome.ok, said = carry_out(command, PATIENCE * stage.budget)
        outcome.output += f"$ {' '.join(command)}\n{said}"
        if not outcome.ok:
            break
    if stage.tests:
        outcome.closing = outcome.output.strip().splitlines()[-1:]
        outcome.ok = outcome.ok and any(re.search(r"\b[1-9]\d* passed\b", line) for line in outcome.closing)
    outcome.seconds = time.monotonic() - began
    return outcome


def carry_out(command: Sequence[str], seconds: float) -> tuple[bool, str]:
    """Whether a command succeeded, and what it said. One that hangs is ended with all it started."""
    with tempfile.TemporaryFile("w+") as said:
        program = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(),
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            program.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            said.write(f"\nit hung, and was ended after {seconds:.0f} s\n")
        said.seek(0)
        return program.returncode == 0, said.read()


def environment() -> dict[str, str]:
    """The caller's environment, with `.venv` first on PATH for tests that start programs.

    Left out is what hides faults: Python's buffers and caches are as a user's are.
    """
    kept = {name: value for name, value in os.environ.items() if name not in HIDING}
    return {**kept, "PATH": f"{SCRIPTS}{os.pathsep}{kept.get('PATH', '')}", "PYTHONHASHSEED": "0"}


def report(outcome: Outcome) -> None:
    """One line as soon as a stage is judged, with pytest's own closing line."""
    for line in outcome.closing:
        print(line)
    print(f"{'ok' if outcome.ok else 'FAILED'} {outcome.stage.name} {outcome.seconds:.1f} s", flush=True)


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Stage, verdict, time, and a warning past the budget."""
    print(f"\n{'stage':<10}{'verdict':<10}{'seconds':>8}{'budget':>8}")
    for each in outcomes:
        late = "  over its budget" if each.seconds > each.stage.budget else ""
        verdict = "ok" if each.ok else "FAILED"
        print(f"{each.stage.name:<10}{verdict:<10}{each.seconds:>8.1f}{each.stage.budget:>8.0f}{late}")


def conclude(outcomes: Sequence[Outcome]) -> int:
    """What failed stages said; the first one's comes last, where it is read first."""
    failed = [outcome for outcome in outcomes if not outcome.ok]
    for outcome in reversed(failed):
        print(f"\n--- {outcome.stage.name} failed ---\n{outcome.output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
