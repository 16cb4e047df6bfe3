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
import {module}
print(perf_counter() - begun)
"""


def measure(setting: Setting) -> Iterator[Figure]:
    sides = setting.alternate(partial(milliseconds, "psych_runtime"), partial(milliseconds, "pydantic"))
    yield Figure("import psych_runtime / import pydantic", "ms", *sides, at_most(2))


def milliseconds(module: str) -> float:
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM.format(module=module)],
        capture_output=True,
        text=True,
        check=True,
    )
    return 1e3 * float(done.stdout)
