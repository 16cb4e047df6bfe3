"""The template `adapter`: a store that keeps every rule, written out for its author to replace."""

import ast
import dataclasses
import inspect
import sys
from pathlib import Path

import pytest

from psych_runtime import Store
from psych_runtime_contract.store import Caps, StoreContract
from tests.house.checkout import ROOT
from tests.kit.command import run
from tests.kit.rendering import NAME, Rendered, rendered

TEMPLATE = ROOT / "templates" / "adapter"
STORE = ast.parse((TEMPLATE / "psychproject" / "store.py").read_text())
# What the port asks for that is no method.
VALUES = {"codec", "clock", "kv", "live", "blobs"}
# What a test class overrides.
HOOKS = ("another", "failing", "dump", "read_only", "joined", "secrets")
METHODS = sorted(name for name in vars(Store) if not name.startswith("_") and name not in VALUES)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return rendered("adapter", tmp_path_factory.mktemp("adapter"))


def test_the_port_has_methods_to_write_out() -> None:
    assert {"commit", "claim", "changes", "close"} <= set(METHODS)
    assert all(inspect.isfunction(vars(Store)[name]) for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_each_method_of_the_port_is_one_line_under_its_rule(name: str) -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(STORE) if isinstance(node, functions) and node.name == name]
    (method,) = found
    assert ast.get_docstring(method)
    assert len(method.body[1:]) == 1


def test_its_readme_names_all_that_the_suite_can_be_told() -> None:
    text = (TEMPLATE / "README.md").read_text()
    caps = [field.name for field in dataclasses.fields(Caps)]
    assert all(hasattr(StoreContract, name) for name in HOOKS)
    assert [name for name in (*HOOKS, *caps, "store.blobs") if f"`{name}`" not in text] == []


def test_it_imports_the_public_module_and_nothing_else_of_ours() -> None:
    named = {path.relative_to(TEMPLATE).parts[0]: imported(path) for path in TEMPLATE.rglob("*.py")}
    assert named["tests"] == {"psych_runtime", "psych_runtime_contract"}
    assert named["psychproject"] | named["main.py"] == {"psych_runtime"}


def imported(path: Path) -> set[str]:
    """The packages of ours that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {top for name in names if (top := name.partition(".")[0]).startswith("psych_runtime")}


def test_its_tests_fail_where_a_rule_is_broken(project: Rendered, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    assert run(f"cp -r {project.project} {broken}").code == 0
    store = broken / NAME / "store.py"
    kept = "await self._ours.renew(leases, lease_seconds=lease_seconds)"
    assert kept in store.read_text()
    store.write_text(store.read_text().replace(kept, '(Renewed(leases[0], "kept"),)'))
    rule = "test_a_renewed_lease_ends_at_its_new_end_alone"
    ended = run([sys.executable, "-m", "pytest", "-q", "-k", f"{rule} or a_cap_of_its_own"], cwd=broken)
    summary = [line.split(" - ")[0] for line in ended.out.splitlines() if line.startswith("FAILED")]
    failed = [line.rpartition("::")[2] for line in summary]
    assert failed[:1] == [rule]
    assert " passed" in ended.out


def test_the_command_finds_it_where_it_is_installed(project: Rendered) -> None:
    found = project.run("psych doctor --store acme:")
    assert found.code == 0
    assert "acme" in next(line for line in found.out.splitlines() if "store.open" in line)
    assert project.run("psych migrate --check --store acme:").code == 0
    asked = project.run("psych runs --store acme:elsewhere")
    assert (asked.code, asked.out) == (2, "")
    assert asked.err.startswith("psych: write acme: alone")


def test_the_command_does_not_know_it_elsewhere(tmp_path: Path) -> None:
    asked = run("psych runs --store acme:", cwd=tmp_path)
    assert asked.code == 2
    assert asked.err.startswith("psych: no store is known for 'acme'")
