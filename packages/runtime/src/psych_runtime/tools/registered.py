"""A tool that is registered: what a model is told of it, how its arguments are read, how it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.flags import Probe
from psych_runtime.tools.given import ArgumentsReader
from psych_runtime.tools.offered import offered_tool
from psych_runtime.tools.probe import ProbeCallee
from psych_runtime.tools.problem import Problem, invalid_arguments
from psych_runtime.tools.signature import Callee, Code
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import ToolClass, ToolDefinition
from psych_runtime_core.records.facts import OfferedTool


@dataclass(frozen=True, kw_only=True)
class RegisteredTool:
    """A function and all that was said of it. `timeout_seconds` and `max_concurrency` None are unbounded."""

    name: str
    fn: Callable[..., object]
    description: str
    parameters: Mapping[str, Json]
    annotations: frozenset[ToolClass]
    safe_to_retry: bool
    interruptible: bool
    timeout_seconds: float | None
    max_concurrency: int | None
    parallel: bool
    probe: Probe | None
    strict: bool
    _callee: Callee = field(repr=False, compare=False)
    _reader: ArgumentsReader = field(repr=False, compare=False)
    _probe: ProbeCallee | None = field(repr=False, compare=False)

    @property
    def is_async(self) -> bool:
        """Whether it is called on the loop; any other is called in a thread."""
        return self._callee.is_async

    @property
    def takes_context(self) -> bool:
        """Whether it has a `ToolContext` parameter, and so can pass the idempotency key on."""
        return self._callee.context is not None

    @property
    def offered(self) -> OfferedTool:
        """What a log holds of it where it is offered."""
        return self._offered

    def definition(self) -> ToolDefinition:
        """What a model is offered; the same object every time."""
        return self._definition

    def validate(self, arguments: Mapping[str, Json]) -> Mapping[str, object] | Problem:
        """JSON arguments as instances, by parameter of the function; or `invalid_arguments`."""
        values = self._reader.read(arguments)
        return invalid_arguments(values) if isinstance(values, tuple) else values

    def bind(self, values: Mapping[str, object], context: ToolContext | None) -> Code:
        """The function with values of `validate`, to be called with nothing more.

        Raises `ValueError` when it takes a context and there is none.
        """
        self._check_context(self._callee, context)
        return self._callee.bind(values, context)

    def bind_probe(self, key: str, context: ToolContext | None) -> Code | None:
        """The probe with a call's idempotency key; None without a probe. Raises as `bind` does."""
        if self._probe is None:
            return None
        self._check_context(self._probe.callee, context)
        return self._probe.callee.bind({self._probe.key: key}, context)

    @cached_property
    def _offered(self) -> OfferedTool:
        return offered_tool(self.definition(), "code")

    @cached_property
    def _definition(self) -> ToolDefinition:
        return ToolDefinition(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            strict=self.strict,
            annotations=self.annotations,
            interruptible=self.interruptible,
            safe_to_retry=self.safe_to_retry,
            timeout_seconds=self.timeout_seconds,
        )

    def _check_context(self, callee: Callee, context: ToolContext | None) -> None:
        if callee.context is not None and context is None:
            raise ValueError(f"tool {self.name!r} takes a ToolContext: call it with context=ToolContext(…)")
