"""Whatever a tool raises becomes a failure, and nothing that it raises breaks the telling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from psych_runtime.tools.failures import failure_of
from psych_runtime_core.errors import AccessDenied, ModelError, ModelErrorKind, TransientError
from psych_runtime_core.records.facts import ToolFailure


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit


class Hostile(Exception):
    @property
    def status_code(self) -> int:
        raise RuntimeError


class Unhashable(Exception):
    @property
    def status_code(self) -> list[int]:
        return [503]


class Status(Exception):
    status_code = 503


NESTED = ExceptionGroup("g", [ExceptionGroup("h", [OSError("a"), KeyError(1)]), ValueError("b")])


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("bad"), "ValueError", "bad"),
        (KeyError("a"), "KeyError", "'a'"),
        (TimeoutError(), "TimeoutError", "TimeoutError"),
        (SystemExit(3), "SystemExit", "3"),
        (KeyboardInterrupt(), "KeyboardInterrupt", "KeyboardInterrupt"),
        (GeneratorExit("x"), "GeneratorExit", "x"),
        (StopIteration(5), "StopIteration", "5"),
        (asyncio.CancelledError("mine"), "CancelledError", "mine"),
        (Mute("x"), "Mute", "Mute"),
        (Hostile("x"), "Hostile", "x"),
        (Unhashable("x"), "Unhashable", "x"),
        (ExceptionGroup("g", [ValueError("a")]), "ValueError", "a"),
        (NESTED, "OSError", "a (and 2 more)"),
        (BaseExceptionGroup("g", [SystemExit(1), ValueError("b")]), "SystemExit", "1 (and 1 more)"),
        (AccessDenied("x", "y"), "AccessDenied", "access to x is denied: y"),
    ],
    ids=repr,
)
def test_a_failure_is_named_by_its_class_in_its_own_words(
    error: BaseException, kind: str, message: str
) -> None:
    failure = failure_of(error)
    assert (failure.kind, failure.message) == (kind, message)


@pytest.mark.parametrize(
    ("error", "transient", "retry_after"),
    [
        (TransientError("busy", 2.5), True, 2.5),
        (TransientError("busy", float("nan")), True, None),
        (ConnectionResetError(), True, None),
        (TimeoutError(), True, None),
        (Status("down"), True, None),
        (ModelError(ModelErrorKind.TRANSIENT, "x", retry_after_seconds=3), True, 3.0),
        (ExceptionGroup("g", [TransientError("busy", 1)]), True, 1.0),
        (ValueError("bad"), False, None),
        (Hostile("x"), False, None),
        (SystemExit(1), False, None),
        (asyncio.CancelledError(), False, None),
    ],
    ids=repr,
)
def test_what_may_pass_is_marked(error: BaseException, transient: bool, retry_after: float | None) -> None:
    failure = failure_of(error)
    assert (failure.transient, failure.retry_after_seconds) == (transient, retry_after)


def raised_by(fn: Callable[[], None]) -> ToolFailure:
    """The failure of what `fn` raises."""
    with pytest.raises(Exception) as caught:
        fn()
    return failure_of(caught.value)


def test_texts_are_cut_to_what_a_record_holds() -> None:
    def raises() -> None:
        raise ValueError("x" * 5_000_000)

    failure = raised_by(raises)
    assert len(failure.message) == 8_192
    assert failure.message.endswith("… [truncated]")
    assert failure.traceback is not None
    assert len(failure.traceback) == 65_536


def test_the_traceback_is_there_for_operators() -> None:
    def raises_where_it_is() -> None:
        raise Mute

    failure = raised_by(raises_where_it_is)
    assert failure.traceback is not None
    assert "in raises_where_it_is" in failure.traceback
