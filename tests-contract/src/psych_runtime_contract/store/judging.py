"""A test of the suite, or the machine alone, run by hand on a store: what it says against the store."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store.contract import StoreContract
from psych_runtime_contract.store.machine import Example, Judged
from psych_runtime_contract.store.sequences import run_machine
from psych_runtime_contract.store.time import StoreTime
from psych_runtime_core.clock import Clock
from psych_runtime_core.ports.store import Store

# `pytest.fail` raises what is no `Exception`.
FAILURES = (Exception, BaseExceptionGroup, pytest.fail.Exception)

OpenStore = Callable[[Clock], Store]


def failure(open_store: OpenStore, test: str, suite: type[StoreContract] = StoreContract) -> str | None:
    """What the first case of a test says that `open_store`'s store fails; None where it fails none."""
    for arguments in _cases(getattr(suite, test)):
        said = asyncio.run(_said(open_store(FakeClock()), suite, test, arguments))
        if said is not None:
            return f"{test}: {said}"
    return None


def sequence_failure(open_store: OpenStore, machine: type[Example], examples: int) -> str | None:
    """What a machine says against a store within so many sequences of calls; None where it agrees."""
    with asyncio.Runner() as runner:
        store = open_store(FakeClock())
        try:
            run_machine(
                machine,
                Judged(store, StoreTime(store.clock), runner.get_loop().run_until_complete),
                _how(examples),
            )
        except FAILURES as error:
            return _words(error)
        finally:
            runner.run(store.close())
    return None


async def _said(
    store: Store, suite: type[StoreContract], test: str, arguments: Mapping[str, Any]
) -> str | None:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        await store.migrate()
        fixtures = {
            "store": store,
            "second": store,
            "time": StoreTime(store.clock),
            "kv": store.kv,
            "live": store.live,
        }
        method = getattr(suite(), test)
        asked = {name: fixtures[name] for name in inspect.signature(method).parameters if name in fixtures}
        try:
            await method(**asked, **arguments)
        except FAILURES as error:
            return _words(error)
    return None


def _how(examples: int) -> settings:
    """Until the first fault, which is not looked at closer."""
    return settings(
        max_examples=examples,
        stateful_step_count=50,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def _cases(test: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """The arguments of each case that pytest would make of a test."""
    choices: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names, cases = mark.args
            names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
            choices.append([dict(zip(names, _values(case, len(names)), strict=True)) for case in cases])
    for chosen in product(*choices):
        yield {name: value for each in chosen for name, value in each.items()}


def _values(case: Any, count: int) -> Any:
    """Of a `pytest.param`, a tuple of values, or one value."""
    if hasattr(case, "values") and hasattr(case, "marks"):
        return case.values
    return [case] if count == 1 else case


def _words(error: BaseException) -> str:
    """What is said, also by the errors within a group."""
    within: Sequence[BaseException] = getattr(error, "exceptions", ())
    if within:
        return "; ".join(map(_words, within))
    return f"{type(error).__name__}: {error}"
