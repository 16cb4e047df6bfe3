"""A registry whose tools are watched: each run of one, before it begins and after it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, fields
from inspect import isawaitable
from typing import Any, Protocol

from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.ending import Raised, Returned
from psych_runtime.tools.problem import Problem
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.signature import Code
from psych_runtime_core.jsonvalue import Json


@dataclass(frozen=True, slots=True, eq=False)
class ToolRun:
    """One run of a tool: its context, and its arguments as JSON."""

    context: ToolContext
    arguments: Mapping[str, Json]


class ToolWatch(Protocol):
    """Is told of each run, on the loop or in the thread where it happens; what it raises, the tool raises."""

    def began(self, run: ToolRun) -> None: ...

    def ended(self, run: ToolRun, ending: Returned | Raised) -> None: ...


class WatchedRegistry(ToolRegistry):
    """The tools of another registry, watched. Register at that one: changes show here."""

    def __init__(self, registry: ToolRegistry, watch: ToolWatch) -> None:
        super().__init__()
        self._watched, self._watch = registry, watch
        self._threads = registry._threads

    @property
    def names(self) -> tuple[str, ...]:
        return self._watched.names

    def get(self, name: str) -> RegisteredTool | None:
        tool = self._watched.get(name)
        return None if tool is None else _WatchedTool(**_fields(tool), inner=tool, watch=self._watch)


class _Values(dict[str, object]):
    """What a function is called with, and the JSON that it was read from."""

    def __init__(self, values: Mapping[str, object], arguments: Mapping[str, Json]) -> None:
        super().__init__(values)
        self.arguments = arguments


@dataclass(frozen=True, kw_only=True)
class _WatchedTool(RegisteredTool):
    inner: RegisteredTool = field(repr=False, compare=False)
    watch: ToolWatch = field(repr=False, compare=False)

    def validate(self, arguments: Mapping[str, Json]) -> Mapping[str, object] | Problem:
        values = self.inner.validate(arguments)
        return values if isinstance(values, Problem | _Values) else _Values(values, arguments)

    def bind(self, values: Mapping[str, object], context: ToolContext | None) -> Code:
        code = self.inner.bind(values, context)
        if context is None or not isinstance(values, _Values):
            return code
        run = ToolRun(context, values.arguments)
        return lambda: _told(code, run, self.watch)


def _fields(tool: RegisteredTool) -> dict[str, Any]:
    return {each.name: getattr(tool, each.name) for each in fields(RegisteredTool)}


def _told(code: Code, run: ToolRun, watch: ToolWatch) -> object:
    watch.began(run)
    try:
        value = code()
    except BaseException as error:
        watch.ended(run, Raised(error))
        raise
    if isawaitable(value):
        return _awaited(value, run, watch)
    watch.ended(run, Returned(value))
    return value


async def _awaited(value: Awaitable[object], run: ToolRun, watch: ToolWatch) -> object:
    try:
        found = await value
    except BaseException as error:
        watch.ended(run, Raised(error))
        raise
    watch.ended(run, Returned(found))
    return found
