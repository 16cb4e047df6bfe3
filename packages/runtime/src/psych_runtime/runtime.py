"""The ports of a process, shared by its Workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

from psych_runtime.tools.permits import Permits
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.selectors import Selectors
from psych_runtime.tools.threads import ToolThreads
from psych_runtime_core.clock import Clock
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.ports.policy import AllowAll, Policy
from psych_runtime_core.ports.store import Store
from psych_runtime_core.spec.validate.context import ValidationContext

# A result over this many bytes of JSON needs a blob store.
BLOB_OFFLOAD_BYTES = 300_000


@dataclass(frozen=True)
class Runtime:
    """A frozen set of ports, one per process. It holds pools, and nothing of any Run.

    `approval_selectors` say which calls need a person (`()`: none); `clock` is the store's own, and naming
    another is `ValueError`; `tool_threads` bounds the threads of synchronous tools; results over
    `blob_offload_bytes` are not kept.
    """

    _: KW_ONLY
    store: Store
    model: ModelClient
    registry: ToolRegistry
    policy: Policy = field(default_factory=AllowAll)
    approval_selectors: Sequence[str] = ("@destructive",)
    clock: Clock | None = None
    tool_threads: int = 32
    blob_offload_bytes: int = BLOB_OFFLOAD_BYTES

    def __post_init__(self) -> None:
        _check_ports(self)
        if self.clock is not None and self.clock is not self.store.clock:
            raise ValueError("clock is not the store's; leave it out, or give the store that clock")
        if self.tool_threads < 1 or self.blob_offload_bytes < 1:
            raise ValueError("tool_threads and blob_offload_bytes are 1 or more")
        Selectors(self.approval_selectors)

    @cached_property
    def selectors(self) -> Selectors:
        return Selectors(self.approval_selectors)

    @cached_property
    def threads(self) -> ToolThreads:
        return ToolThreads(self.tool_threads)

    @cached_property
    def permits(self) -> Permits:
        return Permits()

    def validation_context(self) -> ValidationContext:
        """What this process can serve, for `publish`: the registered tools."""
        return ValidationContext(registered_tools=frozenset(self.registry.names))


def _check_ports(runtime: Runtime) -> None:
    """Raise `TypeError` for a port of the wrong shape, before any Run meets it."""
    needs = {
        "store": ("commit claim changes", "open one: async with open_store(URL) as store"),
        "model": ("stream provider", "give a ModelClient"),
        "registry": ("require names", "give a ToolRegistry"),
        "policy": ("allow_run allow_tool permitted_tools", "give a Policy; AllowAll is the base to subclass"),
    }
    for name, (attributes, cure) in needs.items():
        port = getattr(runtime, name)
        absent = [attribute for attribute in attributes.split() if not hasattr(port, attribute)]
        if absent:
            raise TypeError(f"{name} is a {type(port).__name__} without {', '.join(absent)}; {cure}")
