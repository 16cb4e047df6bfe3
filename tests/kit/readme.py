"""Carries out a project's README in an environment: `python -m tests.kit.readme PROJECT BIN DIST`."""

import os
import sys
from pathlib import Path

from tests.kit import snippets
from tests.kit.command import run

INSTALL = "pip install "
# How a README names the folder of our wheels, which is elsewhere for everybody.
DIST = "/path/to/dist"


def main(project: Path, programs: Path, dist: Path) -> int:
    """Run what installs, then every other command; 0 when each ends well and prints what is said below it."""
    # Nothing but the environment and the system: what a project forgot to ask for is not found.
    path = f"{programs}{os.pathsep}{os.defpath}"
    every = snippets.steps(project / "README.md")
    for step in sorted(every, key=lambda step: not step.command.startswith(INSTALL)):
        command = step.command.replace(DIST, str(dist))
        ended = run(f"{command} 2>&1", cwd=project, env={"PATH": path}, seconds=300)
        if ended.code or not snippets.agree(step.printed, ended.out):
            print(f"line {step.line} of the README of {project.name}\n$ {command}\n{ended.out}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
