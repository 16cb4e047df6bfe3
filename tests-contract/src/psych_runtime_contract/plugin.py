"""What pytest loads: the one way to leave a rule out, and the rewriting of `assert` that shows both sides.

A suite that was not given all it needs is refused, where pytest would leave it out without a word.
"""

import inspect
from collections import Counter
from operator import attrgetter
from typing import NoReturn

import pytest

PACKAGE = "psych_runtime_contract"
REWRITTEN = ("blob", "codec", "egress", "model", "secrets", "store")

pytest.register_assert_rewrite(*(f"{PACKAGE}.{package}" for package in REWRITTEN))

LEFT_OUT = "left out, since it needs the capability "


def leave_out(capability: str) -> NoReturn:
    """Leave the rule out that runs: its suite lacks a capability, which is named and counted."""
    pytest.skip(f"{LEFT_OUT}`{capability}`")


def require(suite: object, capability: str) -> None:
    """Leave the rule out that runs unless its suite has this attribute, as `caps.push`, and it is true."""
    if not attrgetter(capability)(suite):
        leave_out(capability)


def pytest_configure(config: pytest.Config) -> None:
    """Makes the mark known."""
    config.addinivalue_line(
        "markers", "needs(capability): a rule for those alone whose suite has this attribute, and it is true"
    )


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> None:
    """Refuses a suite that still lacks a method: pytest collects nothing of an abstract class."""
    if not (isinstance(obj, type) and inspect.isabstract(obj) and collector.classnamefilter(name)):
        return
    contracts = [base for base in obj.__mro__ if base.__module__.partition(".")[0] == PACKAGE]
    if contracts and obj not in contracts:
        lacking = ", ".join(f"{method}()" for method in sorted(vars(obj)["__abstractmethods__"]))
        raise collector.CollectError(f"{name} of {contracts[0].__name__} lacks {lacking}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leaves a rule out whose capability the suite lacks, by name."""
    suite = item.getparent(pytest.Class)
    for mark in item.iter_markers("needs"):
        (capability,) = mark.args
        require(suite and suite.obj, capability)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Counts what was left out, by capability."""
    skipped: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    reasons = [str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)]
    counts = Counter(reason.partition(LEFT_OUT)[2] for reason in reasons if LEFT_OUT in reason)
    if counts:
        told = ", ".join(f"{count} for lack of {capability}" for capability, count in sorted(counts.items()))
        terminalreporter.write_line(f"rules left out: {told}")
