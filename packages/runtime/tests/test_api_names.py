"""The public module: light to import, every name where it says, the same for type checkers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import psych_runtime

PROMISED_FRONT = {
    "AgentSpec",
    "ModelRef",
    "Limits",
    "CodeTool",
    "SuspensionPolicy",
    "ToolRegistry",
    "ToolContext",
    "ValidationContext",
    "publish",
    "dispatch",
    "Dispatched",
    "scoped",
    "Scope",
    "session",
    "Session",
    "Runtime",
    "Worker",
    "open_store",
    "InMemoryStore",
    "Policy",
    "AllowAll",
    "Decision",
    "send",
    "interrupt",
    "approve",
    "deny",
    "resume",
    "resume_all",
    "Answer",
    "QueueKind",
    "records",
    "stream",
    "state",
    "status",
    "answer",
    "thread",
    "report",
    "TerminalState",
    "runs",
    "purge",
    "export_run",
    "import_run",
    "redacted",
    "verify",
    "PsychError",
    "RunFailed",
    "RunAborted",
    "AccessDenied",
    "SpecValidationError",
}


def test_dir_shows_what_a_program_types() -> None:
    assert set(dir(psych_runtime)) >= PROMISED_FRONT
    assert len(dir(psych_runtime)) <= 60
    assert dir(psych_runtime) == sorted(set(dir(psych_runtime)))


def test_a_star_import_brings_every_name() -> None:
    names: dict[str, object] = {}
    exec("from psych_runtime import *", names)
    assert set(psych_runtime.__all__) <= set(names)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(psych_runtime, "no_such_name")  # noqa: B009 - a type checker knows that it is not there


def test_type_checkers_see_each_name_at_its_home() -> None:
    assert psych_runtime.__file__ is not None
    stub = Path(psych_runtime.__file__).with_suffix(".pyi")
    told = {
        alias.asname: node.module
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == vars(psych_runtime)["_HOMES"]


def test_no_name_hides_a_module() -> None:
    """A submodule that is imported becomes an attribute of the package, and would take a name's place."""
    assert psych_runtime.__file__ is not None
    modules = {path.stem for path in Path(psych_runtime.__file__).parent.iterdir()}
    assert not modules & set(psych_runtime.__all__)


def loaded_by(program: str) -> set[str]:
    """The modules that a fresh interpreter holds after `program`."""
    shown = f"{program}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", shown], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_module_loads_nothing_that_is_not_used() -> None:
    before, after = loaded_by("import importlib"), loaded_by("import psych_runtime")
    assert {name.partition(".")[0] for name in after - before} == {"psych_runtime", "__future__"}


def test_a_name_loads_what_it_needs_and_no_more() -> None:
    loaded = loaded_by("import psych_runtime; psych_runtime.RunNotFound")
    assert "psych_runtime_core.errors" in loaded
    assert not {"pydantic", "anyio", "psych_runtime.worker", "psych_runtime_memory"} & loaded
