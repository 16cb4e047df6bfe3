"""The project speaks of itself alone, finishes what it starts, and gives a reason for each exception."""

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from tests.house.checkout import ROOT, cases, files, is_test, modules, tree

# One letter of each stands in brackets, so that this file does not hold the words.
UNFINISHED = ("TOD[O]", "FIXM[E]", "NotImplemente[d]Error")
ELSEWHERE = ("/wor[k]/", r"\.\./share[d]", "issue [#]")
HOSTS = (
    r"pyp[i]\.org",
    r"pythonhoste[d]\.org",
    r"npmj[s]\.org",
    r"debia[n]\.org",
    r"crate[s]\.io",
    r"golan[g]\.org",
)
FORBIDDEN = re.compile("|".join((*UNFINISHED, *ELSEWHERE, *HOSTS)))

WAIVER = re.compile(r"#\s*(?:(?:ruff:\s*)?noqa|type:\s*ignore|pyright:\s*\w+|mypy:\s*\w+)\b(?P<rest>.*)")
CODES_AND_REASON = re.compile(
    r"""(?: :\s*[A-Z]+\d+ (?:,\s*[A-Z]+\d+)* | \[[a-zA-Z-]+ (?:,\s*[a-zA-Z-]+)*\] )   # the codes
        \s*[-#]+\s*   # a dash, or a new comment
        (?P<reason>\S.{7,})""",
    re.VERBOSE,
)


@pytest.mark.parametrize("path", cases(path for path in files() if path.name not in {"uv.lock", "LICENSE"}))
def test_a_file_speaks_of_this_project_and_leaves_nothing_for_later(path: Path) -> None:
    text = (ROOT / path).read_text()
    assert not FORBIDDEN.findall(text)


@pytest.mark.parametrize("path", cases(modules()))
def test_every_waiver_names_its_code_and_its_reason(path: Path) -> None:
    tokens = tokenize.generate_tokens(io.StringIO((ROOT / path).read_text()).readline)
    comments = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    assert not [(line, text) for line, text in comments if not is_explained(text)]


def is_explained(comment: str) -> bool:
    """Whether a comment waives nothing, or says which rule and why."""
    waiver = WAIVER.search(comment)
    return waiver is None or CODES_AND_REASON.match(waiver["rest"]) is not None


@pytest.mark.parametrize(
    ("comment", "explained"),
    [
        ("# noqa", False),
        ("# noqa: PLR0913", False),
        ("# noqa: PLR0913 - the options of a public call", True),
        ("# type: ignore", False),
        ("# type: ignore[arg-type]", False),
        ("# type: ignore[arg-type]  # the stubs of the driver are wrong", True),
        ("# pyright: ignore[reportPrivateUsage]  # no public way in", True),
        ("# pyright: basic", False),
        ("# mypy: ignore-errors", False),
        ("# ruff: noqa", False),
        ("# nothing is waived here", True),
    ],
)
def test_what_counts_as_a_reason(comment: str, explained: bool) -> None:
    assert is_explained(comment) is explained


def test_no_two_test_files_share_a_name() -> None:
    names = Counter(path.name for path in modules() if path.name.startswith("test_"))
    assert not [name for name, count in names.items() if count > 1]


def is_unit(path: Path) -> bool:
    """Tests that start no process have nobody to wait for."""
    return is_test(path) and path.parts[:2] not in {("tests", "e2e"), ("tests", "kit")}


@pytest.mark.parametrize("path", cases(path for path in modules() if is_unit(path)))
def test_unit_tests_do_not_sleep(path: Path) -> None:
    calls = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    assert not [f"line {call.lineno}" for call in calls if is_sleep(call)]


def is_sleep(call: ast.Call) -> bool:
    """Whether a call sleeps for a time written down on the spot."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="sleep") | ast.Name(id="sleep"),
            args=[ast.Constant(value=int() | float() as time), *_],
        ):
            return time > 0
        case _:
            return False
