"""An HTTP tool of a Spec, ready to be offered and called like any other tool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import cast

from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.http.call import HttpCall
from psych_runtime.tools.http.ending import HttpEnd
from psych_runtime.tools.http.placement import Places, place
from psych_runtime.tools.http.tries import TryTerms
from psych_runtime.tools.offered import offered_tool
from psych_runtime.tools.problem import MAX_FAULTS, Problem, invalid_arguments
from psych_runtime.tools.signature import Code
from psych_runtime_core.clock import Clock
from psych_runtime_core.jsonvalue import EMPTY_OBJECT, FrozenDict, Json
from psych_runtime_core.messages import ToolClass, ToolDefinition, class_of
from psych_runtime_core.records.facts import OfferedTool
from psych_runtime_core.schema import violations
from psych_runtime_core.spec.http_tool import HttpTool

# What a schema that says nothing is to a model: some providers take no object without properties.
ANY_OBJECT = FrozenDict({"type": "object", "properties": EMPTY_OBJECT})

_CLASS_OF_METHOD = {"GET": ToolClass.READ_ONLY, "DELETE": ToolClass.DESTRUCTIVE}


class HttpEndpoint:
    """Made once for each Version. Its time limit is of each try, so a call as a whole has none of its own."""

    is_async = True
    takes_context = True
    parallel = True
    timeout_seconds: float | None = None
    max_concurrency: int | None = None
    probe = None

    def __init__(self, tool: HttpTool, clock: Clock) -> None:
        self.name, self.interruptible = tool.name, tool.interruptible
        self._tool, self._clock = tool, clock

    @property
    def offered(self) -> OfferedTool:
        """What a log holds of it where it is offered."""
        return self._offered

    def definition(self) -> ToolDefinition:
        """What a model is offered; the same object every time."""
        return self._definition

    def validate(self, arguments: Mapping[str, Json]) -> Mapping[str, object] | Problem:
        """The arguments themselves, if they fit the schema and their places."""
        faults = violations(arguments, self._tool.input_schema, limit=MAX_FAULTS)
        placed = faults or place(self._places, arguments)
        return invalid_arguments(placed) if isinstance(placed, tuple) else arguments

    def bind(self, values: Mapping[str, object], context: ToolContext | None) -> Code:
        """The call, to be made with nothing more. Raises `ValueError` without a context."""
        request = place(self._places, cast("Mapping[str, Json]", values))
        if context is None or isinstance(request, tuple):
            raise ValueError(f"tool {self.name!r} takes a ToolContext, and arguments that `validate` gave")
        definition = self.definition()
        only_reads = class_of(definition) is ToolClass.READ_ONLY
        terms = TryTerms(definition.safe_to_retry, context.idempotency_key, context.deadline)
        end = HttpEnd(self.name, self._tool.timeout_seconds, only_reads, definition.safe_to_retry)
        return HttpCall(self._tool, request, context, self._clock, terms, end).made

    def bind_probe(self, key: str, context: ToolContext | None) -> None:
        """Nobody knows how to ask a server what became of a request."""
        del key, context

    @cached_property
    def _offered(self) -> OfferedTool:
        return offered_tool(self.definition(), "http")

    @cached_property
    def _places(self) -> Places:
        return Places.of(self._tool)

    @cached_property
    def _definition(self) -> ToolDefinition:
        tool = self._tool
        stated = frozenset(map(ToolClass, tool.annotations))
        inferred = _CLASS_OF_METHOD.get(tool.method, ToolClass.WRITE)
        return ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters=tool.input_schema or ANY_OBJECT,
            annotations=stated or frozenset({inferred}),
            interruptible=tool.interruptible,
            safe_to_retry=tool.method == "GET" if tool.safe_to_retry is None else tool.safe_to_retry,
            timeout_seconds=tool.timeout_seconds,
        )
