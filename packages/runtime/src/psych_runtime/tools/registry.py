"""The tools of a process, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, overload

from typing_extensions import Unpack

from psych_runtime.tools.build import tool_from_function, tool_from_model
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.ending import Raised, Returned
from psych_runtime.tools.flags import ToolFlags
from psych_runtime.tools.given import Given
from psych_runtime.tools.invoke import invoke
from psych_runtime.tools.problem import Problem
from psych_runtime.tools.registered import RegisteredTool
from psych_runtime.tools.threads import ToolThreads
from psych_runtime_core.errors import SchemaViolation, ToolSchemaError
from psych_runtime_core.messages import ToolDefinition

F = TypeVar("F", bound=Callable[..., object])


class ToolRegistry:
    """Functions that Specs grant by name. Names differ by more than case.

    A change is seen by the next turn of every Run; a call under way keeps the function it began with.
    """

    def __init__(self) -> None:
        self._below: ToolRegistry | None = None
        self._own: dict[str, RegisteredTool] = {}  # by name in lower case
        self._threads = ToolThreads()

    @overload
    def register(
        self, fn: F, /, *, name: str | None = None, description: str | None = None, **flags: Unpack[ToolFlags]
    ) -> F: ...
    @overload
    def register(
        self,
        fn: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        **flags: Unpack[ToolFlags],
    ) -> Callable[[F], F]: ...
    def register(
        self,
        fn: F | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        **flags: Unpack[ToolFlags],
    ) -> F | Callable[[F], F]:
        """Register `fn` and return it unchanged; also `@registry.register`, with or without arguments.

        With flags: `@registry.register(annotations="destructive", timeout_seconds=30)` above the function,
        and then `session(model, registry=registry)`.

        `name` and `description` default to the function's name and the first paragraph of its docstring. For
        the flags see `ToolFlags`. Raises `ToolSchemaError` for what cannot be a tool, or whose name is taken.
        """
        if fn is None:
            return lambda fn: self.register(fn, name=name, description=description, **flags)
        self._add(tool_from_function(fn, name, description, flags))
        return fn

    def register_dynamic(
        self,
        name: str,
        fn: Callable[..., object],
        arguments_model: Given,
        *,
        description: str | None = None,
        **flags: Unpack[ToolFlags],
    ) -> None:
        """Register `fn`, which takes by keyword what `arguments_model` describes.

        That is a pydantic model class with `extra="forbid"`, a dataclass, a TypedDict, or a JSON Schema of an
        object; of the last `fn` gets plain JSON values. Raises as `register` does.
        """
        self._add(tool_from_model(fn, name, arguments_model, description, flags))

    def unregister(self, name: str) -> None:
        """Take a tool of this registry away. Raises `ToolSchemaError` for a name it has not registered."""
        own = self._own.get(name.lower())
        if own is None or own.name != name:
            raise self._unknown(name)
        del self._own[name.lower()]

    def layered(self) -> ToolRegistry:
        """A registry on top of this one: it sees this one live, adds its own tools, and shadows none."""
        layer = ToolRegistry()
        layer._below, layer._threads = self, self._threads
        return layer

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of registration, those of the registry below first."""
        below = () if self._below is None else self._below.names
        own = (tool.name for tool in tuple(self._own.values()))
        return tuple(dict.fromkeys((*below, *own)))

    def get(self, name: str) -> RegisteredTool | None:
        """The tool of this very name, or None."""
        tool = self._find(name)
        return tool if tool is not None and tool.name == name else None

    def require(self, name: str) -> RegisteredTool:
        """The tool of this name. Raises `ToolSchemaError` naming those that are nearest."""
        tool = self.get(name)
        if tool is None:
            raise self._unknown(name)
        return tool

    def definitions(self, names: Iterable[str] | None = None) -> tuple[ToolDefinition, ...]:
        """What models are offered of these tools, or of all. Raises as `require` does."""
        return tuple(self.require(name).definition() for name in (self.names if names is None else names))

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, context: ToolContext | None = None
    ) -> Any:
        """One validated call outside any Run: what the function returns, or raises.

        Raises `ToolSchemaError` for an unknown name, `SchemaViolation` for arguments that do not fit, and
        `ValueError` when the tool takes a context and there is none.
        """
        tool = self.require(name)
        values = tool.validate(arguments)
        if isinstance(values, Problem):
            raise SchemaViolation(values.faults)
        ending = await invoke(tool, values, context, self._threads)
        if isinstance(ending, Raised):
            raise ending.error
        return ending.value if isinstance(ending, Returned) else None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[RegisteredTool]:
        return (tool for name in self.names if (tool := self.get(name)) is not None)

    def _add(self, tool: RegisteredTool) -> None:
        taken = self._find(tool.name)
        if taken is not None:
            reason = f"the name {taken.name!r} is taken: write `name=` another, or unregister that one first"
            raise ToolSchemaError(tool.name, None, reason)
        self._own[tool.name.lower()] = tool

    def _find(self, name: str) -> RegisteredTool | None:
        """The tool of this name, whatever its case; one of the registry below goes first."""
        below = None if self._below is None else self._below._find(name)
        return below or self._own.get(name.lower())

    def _unknown(self, name: str) -> ToolSchemaError:
        nearest = difflib.get_close_matches(name, self.names, n=5, cutoff=0.5) or self.names[:5]
        known = f"the nearest are {', '.join(nearest)}" if nearest else "none is registered"
        return ToolSchemaError(name, None, f"no tool of this name is registered here: {known}")
