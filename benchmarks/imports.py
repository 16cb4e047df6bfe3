"""`import psych_runtime` against `import pydantic`, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from benchmarks.figure import Figure, at_most
from benchmarks.setting import Setting

PROGRAM = """
from time import perf_counter
begun = perf_counter()
{statement}
print(perf_counter() - begun)
"""


def measure(setting: Setting) -> Iterator[Figure]:
    sides = (partial(milliseconds, f"import {module}") for module in ("psych_runtime", "pydantic"))
    yield Figure("import psych_runtime / import pydantic", "ms", *setting.alternate(*sides), at_most(2))
    ours = partial(milliseconds, "from psych_runtime import AgentSpec, ModelRef, session")
    against = partial(milliseconds, "from pydantic import BaseModel")
    yield Figure("the names a program needs / BaseModel", "ms", *setting.alternate(ours, against))


def milliseconds(statement: str) -> float:
    """What a statement costs in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
    )
    return 1e3 * float(done.stdout)
