"""What a suite was given to judge. A fault of the suite itself fails each of its rules in one line."""

from __future__ import annotations

import inspect
from typing import NoReturn

import pytest


def made_by(suite: object, method: str, *given: object) -> object:
    """What a method of the suite makes of `given`."""
    make: object = getattr(suite, method)
    if not callable(make):
        unfit(f"{method} is a {type(make).__name__}; write def {method}(self, …) that gives it")
    made = make(*given)
    if inspect.iscoroutine(made):
        made.close()
        unfit(f"{method}() is async, and nobody awaits it; write def {method}")
    return made


def unfit(fault: str) -> NoReturn:
    """Fail a rule that cannot be judged, without the traceback of who found out."""
    pytest.fail(f"the suite: {fault}", pytrace=False)
