"""Rooms stay small enough to be read whole."""

import ast
from pathlib import Path

import pytest

from tests.house.checkout import ROOT, cases, is_test, modules, settings, tree

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("path", cases(modules()))
def test_a_file_can_be_read_whole(path: Path) -> None:
    limit = 500 if is_test(path) else 400
    lines = len((ROOT / path).read_text().splitlines())
    assert lines <= limit


@pytest.mark.parametrize("path", cases(modules()))
def test_a_function_fits_on_a_screen(path: Path) -> None:
    limit = 80 if is_test(path) else 40
    functions = [node for node in ast.walk(tree(path)) if isinstance(node, Function)]
    too_long = {f"{each.name}:{each.lineno}": length(each) for each in functions if length(each) > limit}
    assert not too_long, f"longer than {limit} lines without the docstring"


def length(function: Function) -> int:
    """Lines from `def` to the last one, less the docstring's."""
    documented = function.body[0] if ast.get_docstring(function) else None
    docstring = span(documented) if documented else 0
    return span(function) - docstring


def span(node: ast.stmt) -> int:
    """How many lines a statement takes."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", cases(path for path in modules() if not is_test(path)))
def test_a_module_says_in_a_few_lines_what_it_is(path: Path) -> None:
    docstring = ast.get_docstring(tree(path), clean=False)
    assert docstring or not tree(path).body, "a module without a docstring"
    # A tree or table drawn under the sentence is indented, and is no prose.
    prose = [line for line in (docstring or "").splitlines() if line.strip() and not line.startswith("    ")]
    lines = len(prose)
    assert lines <= 5


def test_ruff_keeps_complexity_and_arguments() -> None:
    lint = settings()["tool"]["ruff"]["lint"]
    assert {"C90", "PL"} <= set(lint["select"])
    assert lint["mccabe"]["max-complexity"] == 10
    assert lint["pylint"]["max-args"] == 6
    assert not {"C901", "PLR0913"} & set(lint["ignore"])
