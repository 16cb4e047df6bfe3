"""What may be imported, and what an import may load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.checkout import Distribution, adapters, cases, files, tree

CORE = Path("packages/core/src/psych_runtime_core")
PURE = ("spec", "version", "records", "state", "engine", "views")
IMPURE = {"asyncio", "anyio", "time", "random", "secrets", "uuid", "os", "socket", "logging"}
CLOCKS = {"now", "utcnow", "today"}


def is_pure(path: Path) -> bool:
    """Whether a file belongs to the half of core that only computes."""
    return (
        path.suffix == ".py"
        and path.is_relative_to(CORE)
        and path.relative_to(CORE).parts[0].removesuffix(".py") in PURE
    )


PURE_MODULES = pytest.mark.parametrize("path", cases(path for path in files() if is_pure(path)))


@PURE_MODULES
def test_the_pure_half_imports_no_clock_chance_or_machine(path: Path) -> None:
    assert not imported(tree(path)) & IMPURE


@PURE_MODULES
def test_the_pure_half_reads_no_clock(path: Path) -> None:
    calls = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    assert not [
        f"line {call.lineno}" for call in calls if isinstance(call, ast.Attribute) and call.attr in CLOCKS
    ]


def imported(module: ast.Module) -> set[str]:
    """The top-level names of all that a module imports, in functions too."""
    plain = [alias.name for node in ast.walk(module) if isinstance(node, ast.Import) for alias in node.names]
    from_ = [node.module for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in (*plain, *from_)}


def python(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_psych_runtime_loads_no_driver_and_no_test_tool() -> None:
    loaded = {
        name.partition(".")[0] for name in python("import sys, psych_runtime; print(*sys.modules)").split()
    }
    heavy = {"pytest", "hypothesis", "sqlalchemy", "aiosqlite", "sqlite3", "psych_runtime_sql"}
    assert "psych_runtime" in loaded
    assert not loaded & (heavy | {adapter.package for adapter in adapters()})


def hidden(name: str, then: str) -> str:
    """A program that runs `then` where the package `name` is not installed."""
    return f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
try:
    {then}
except ImportError as error:
    print(type(error).__name__, error)
"""


def entering(adapter: Distribution) -> str:
    """The line a user writes to come in."""
    return f"import psych_runtime.store.{adapter.folder}"


DOORS = pytest.mark.parametrize("adapter", [pytest.param(each, id=each.folder) for each in adapters()])


@DOORS
def test_a_door_opens(adapter: Distribution) -> None:
    assert python(f"{entering(adapter)}; print('open')") == "open\n"


@DOORS
def test_a_door_to_an_absent_adapter_says_what_to_install(adapter: Distribution) -> None:
    said = python(hidden(adapter.package, entering(adapter)))
    assert said.startswith("MissingExtra ")
    assert f"'psych-runtime[{adapter.folder}]==" in said


@DOORS
def test_a_door_shows_a_broken_driver_as_itself(adapter: Distribution) -> None:
    driver = adapter.project["dependencies"][0].partition(">=")[0]
    assert python(hidden(driver, entering(adapter))) == f"ModuleNotFoundError No module named {driver!r}\n"
