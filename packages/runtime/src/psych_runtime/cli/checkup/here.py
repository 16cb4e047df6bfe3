"""What is to be seen here without a store: Python, variables, skills."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from psych_runtime.cli.checkup.titles import ok, skip, warn
from psych_runtime.cli.documents import Check
from psych_runtime.cli.shelf import MANIFEST, Shelf
from psych_runtime.cli.skill_set import shipped
from psych_runtime.cli.skills_list import standing

VARIABLES = ("PSYCH_STORE_URL", "PSYCH_MODEL", "PSYCH_BASE_URL", "OPENAI_API_KEY")
DEST = Path(".agents/skills")


def python() -> Check:
    """It runs, so it is new enough; which one it is tells of many a surprise."""
    return ok("python", f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}")


def env() -> Check:
    """Whether each is set, and never to what."""
    return ok("env", ", ".join(f"{name} {'set' if os.environ.get(name) else 'unset'}" for name in VARIABLES))


def skills() -> Check:
    """Whether what was installed in this folder is what this release has."""
    if not (DEST / MANIFEST).exists():
        return skip("skills", f"none are installed in {DEST}", "psych skills install")
    states = {each.name: each.state for each in standing(Shelf(DEST), shipped())}
    old = [f"{name} is {state}" for name, state in states.items() if state != "current"]
    if old:
        return warn("skills", ", ".join(old), "psych skills install")
    return ok("skills", f"{len(states)} are current in {DEST}")
