"""Whatever can be called can be a tool, and is called where it belongs."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import pytest

from packages.runtime.tests.tools_made import CONTEXT, called, registered
from psych_runtime.tools.context import ToolContext

P = ParamSpec("P")
R = TypeVar("R")


def where() -> str:
    """The name of the thread."""
    return threading.current_thread().name


def plain(a: int) -> tuple[int, str]:
    """Plain."""
    return a, where()


async def declared_async(a: int) -> tuple[int, str]:
    """Async."""
    await asyncio.sleep(0)
    return a, where()


def traced(fn: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return fn(*args, **kwargs)

    return wrapper


def gives_a_coroutine(a: int) -> Any:
    return declared_async(a)


def promises_an_awaitable(a: int) -> Awaitable[tuple[int, str]]:
    return asyncio.ensure_future(declared_async(a))


class Service:
    """A service."""

    def method(self, a: int) -> tuple[int, str]:
        return plain(a)

    async def async_method(self, a: int) -> tuple[int, str]:
        return await declared_async(a)

    @classmethod
    def of_class(cls, a: int) -> tuple[int, str]:
        return plain(a)

    @staticmethod
    def of_nobody(a: int) -> tuple[int, str]:
        return plain(a)

    @classmethod
    def documented(cls) -> None:
        """Of the class."""

    def __call__(self, a: int) -> tuple[int, str]:
        """Called."""
        return plain(a)


@dataclass
class AsyncService:
    """An async service."""

    more: int = 0

    async def __call__(self, a: int) -> tuple[int, str]:
        return await declared_async(a + self.more)


LOOP, THREAD = "MainThread", "psych-tool"


@pytest.mark.parametrize(
    ("fn", "is_async", "thread"),
    [
        pytest.param(plain, False, THREAD, id="a function"),
        pytest.param(declared_async, True, LOOP, id="an async function"),
        pytest.param(Service().method, False, THREAD, id="a method"),
        pytest.param(Service().async_method, True, LOOP, id="an async method"),
        pytest.param(Service.of_class, False, THREAD, id="a class method"),
        pytest.param(Service.of_nobody, False, THREAD, id="a static method"),
        pytest.param(vars(Service)["of_nobody"], False, THREAD, id="a static method seen in its class"),
        pytest.param(Service(), False, THREAD, id="an object"),
        pytest.param(AsyncService(), True, LOOP, id="an async object"),
        pytest.param(functools.partial(plain), False, THREAD, id="a partial"),
        pytest.param(functools.partial(declared_async), True, LOOP, id="an async partial"),
        pytest.param(functools.partial(AsyncService()), True, LOOP, id="a partial of an async object"),
        pytest.param(traced(plain), False, THREAD, id="a decorated function"),
        pytest.param(traced(declared_async), False, LOOP, id="a plain wrapper of an async function"),
        pytest.param(functools.cache(plain), False, THREAD, id="a cached function"),
        pytest.param(gives_a_coroutine, False, LOOP, id="a function that gives a coroutine"),
        pytest.param(promises_an_awaitable, True, LOOP, id="a function that promises an awaitable"),
    ],
)
async def test_every_callable_is_called(fn: Any, is_async: bool, thread: str) -> None:
    tool = registered(fn)
    assert tool.fn is fn
    assert tool.is_async is is_async
    assert tool.parameters["required"] == ["a"]
    assert await called(fn, {"a": 7}) == (7, thread)


@pytest.mark.parametrize(
    ("fn", "name", "description"),
    [
        (plain, "plain", "Plain."),
        (Service().documented, "documented", "Of the class."),
        (Service(), "Service", "Called."),
        (AsyncService(), "AsyncService", "An async service."),
        (traced(plain), "plain", "Plain."),
        (functools.update_wrapper(functools.partial(plain), plain), "plain", "Plain."),
    ],
)
def test_names_and_descriptions_are_found(fn: Any, name: str, description: str) -> None:
    tool = registered(fn, name=None, description=None)
    assert (tool.name, tool.description) == (name, description)


def test_a_partial_is_described_by_its_function() -> None:
    assert registered(functools.partial(plain), description=None).description == "Plain."


# --- the context -----------------------------------------------------------------------------------------


def hints() -> list[Any]:
    def anywhere(a: int, mine: ToolContext, b: int = 2) -> Any:
        return mine

    def by_position(mine: ToolContext, a: int, /) -> Any:
        return mine

    def by_name(a: int, *, mine: ToolContext) -> Any:
        return mine

    def maybe(a: int, mine: ToolContext | None = None) -> Any:
        return mine

    async def on_the_loop(mine: ToolContext, a: int) -> Any:
        return mine

    return [anywhere, by_position, by_name, maybe, on_the_loop]


@pytest.mark.parametrize("fn", hints(), ids=lambda fn: fn.__name__)
async def test_the_context_is_injected_and_no_model_sees_it(fn: Any) -> None:
    tool = registered(fn)
    assert tool.takes_context
    assert "mine" not in str(tool.parameters)
    assert await called(fn, {"a": 1}, CONTEXT) is CONTEXT
    with pytest.raises(ValueError, match=r"context=ToolContext\(…\)"):
        await called(fn, {"a": 1})


def test_a_tool_that_asks_for_no_context_gets_none() -> None:
    assert not registered(plain).takes_context


def test_a_context_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        CONTEXT.tool = "other"  # type: ignore[misc]  # the very point
