"""What the pipeline needs of a tool, be it a function or an endpoint: all calls go one way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.flags import Probe
from psych_runtime.tools.problem import Problem
from psych_runtime.tools.signature import Code
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.records.facts import OfferedTool


class AnyTool(Protocol):
    """A tool as it is offered, checked and run. `timeout_seconds`, `max_concurrency` None are unbounded."""

    @property
    def name(self) -> str: ...

    @property
    def interruptible(self) -> bool: ...

    @property
    def timeout_seconds(self) -> float | None: ...

    @property
    def max_concurrency(self) -> int | None: ...

    @property
    def parallel(self) -> bool: ...

    @property
    def probe(self) -> Probe | None: ...

    @property
    def is_async(self) -> bool:
        """Whether its code is called on the loop; any other is called in a thread."""
        ...

    @property
    def takes_context(self) -> bool:
        """Whether it can pass the idempotency key on."""
        ...

    @property
    def offered(self) -> OfferedTool:
        """What a log holds of it where it is offered."""
        ...

    def definition(self) -> ToolDefinition:
        """What a model is offered; the same object every time."""
        ...

    def validate(self, arguments: Mapping[str, Json]) -> Mapping[str, object] | Problem:
        """JSON arguments as `bind` takes them, or what is wrong with them."""
        ...

    def bind(self, values: Mapping[str, object], context: ToolContext | None) -> Code:
        """The code of one run, to be called with nothing more."""
        ...

    def bind_probe(self, key: str, context: ToolContext | None) -> Code | None:
        """The code that asks what became of the call with this key; None without a probe."""
        ...
