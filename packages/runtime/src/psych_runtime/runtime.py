"""The ports of a process, shared by its Workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Self, get_args

from psych_runtime.model.askable import fault_of_client
from psych_runtime.model.clients import the_transport
from psych_runtime.model.prices.askable import fault_of_prices
from psych_runtime.model.prices.genai import DEFAULT_PRICES
from psych_runtime.shapes import BLOBS, Shape, shape_fault
from psych_runtime.tools.permits import Permits
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime.tools.selectors import Selectors
from psych_runtime.tools.threads import ToolThreads
from psych_runtime_core.clock import Clock
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.ports.policy import AllowAll, Policy
from psych_runtime_core.ports.prices import CostPolicy, PriceResolver
from psych_runtime_core.ports.sealed_blobs import codec_blobs_of
from psych_runtime_core.ports.secrets import SecretResolver
from psych_runtime_core.ports.store import Store
from psych_runtime_core.spec.validate.context import ValidationContext

if TYPE_CHECKING:
    from psych_runtime.egress.transport import HttpTransport

# A result over this many bytes of JSON goes to a blob.
BLOB_OFFLOAD_BYTES = 300_000


@dataclass(frozen=True)
class Runtime:
    """A frozen set of ports, one per process. It holds pools, and nothing of any Run.

    `approval_selectors` say which calls need a person (`()`: none); `secrets` resolves credentials by name;
    `prices` None leaves the providers' own figures, and `cost_policy` says whose counts; `transport` is the
    one way out over HTTP, the model client's unless given; `blobs` keeps results over `blob_offload_bytes`,
    by default in the store itself, sealed by its codec, and None, where it keeps none, makes them errors of
    their calls; `clock` is the store's own, and naming another is `ValueError`; `tool_threads` bounds the
    threads of synchronous tools. `aclose()`, or leaving `async with`, closes what was opened here, and
    nothing given.
    """

    _: KW_ONLY
    store: Store
    model: ModelClient
    registry: ToolRegistry
    policy: Policy = field(default_factory=AllowAll)
    approval_selectors: Sequence[str] = ("@destructive",)
    secrets: SecretResolver | None = None
    prices: PriceResolver | None = DEFAULT_PRICES
    cost_policy: CostPolicy = "prefer_provider"
    blobs: BlobStore | None = None
    transport: HttpTransport | None = None
    clock: Clock | None = None
    tool_threads: int = 32
    blob_offload_bytes: int = BLOB_OFFLOAD_BYTES

    def __post_init__(self) -> None:
        _check_ports(self)
        if self.blobs is None:
            object.__setattr__(self, "blobs", codec_blobs_of(self.store))
        if self.clock is not None and self.clock is not self.store.clock:
            raise ValueError("clock is not the store's; leave it out, or give the store that clock")
        if self.tool_threads < 1 or self.blob_offload_bytes < 1:
            raise ValueError("tool_threads and blob_offload_bytes are 1 or more")
        if self.cost_policy not in get_args(CostPolicy):
            raise ValueError(f"cost_policy is {self.cost_policy!r}; give one of {get_args(CostPolicy)}")
        Selectors(self.approval_selectors)
        the_transport(self.transport, self.model)

    @cached_property
    def selectors(self) -> Selectors:
        return Selectors(self.approval_selectors)

    @cached_property
    def threads(self) -> ToolThreads:
        return ToolThreads(self.tool_threads)

    @cached_property
    def permits(self) -> Permits:
        return Permits()

    @property
    def http(self) -> HttpTransport:
        """The one way out over HTTP."""
        return the_transport(self.transport, self.model) or self._own_transport

    @cached_property
    def _own_transport(self) -> HttpTransport:
        from psych_runtime.egress.transport import HttpTransport

        return HttpTransport()

    async def aclose(self) -> None:
        """Close what was opened here; the Runtime can still be used, and opens it anew."""
        opened: HttpTransport | None = vars(self).get("_own_transport")
        if opened is not None:
            await opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def validation_context(self) -> ValidationContext:
        """What this process can serve, for `publish`: the registered tools."""
        return ValidationContext(registered_tools=frozenset(self.registry.names))


def _shaped(shape: Shape) -> Callable[[object], str | None]:
    return lambda port: shape_fault(port, shape)


_FAULT_OF: dict[str, Callable[[object], str | None]] = {
    "store": _shaped(Shape(("commit", "claim", "changes"), "open one: async with open_store(URL) as store")),
    "model": fault_of_client,
    "registry": _shaped(Shape(("require", "names"), "give a ToolRegistry")),
    "policy": _shaped(
        Shape(
            ("allow_run", "allow_tool", "permitted_tools"), "give a Policy; AllowAll is the base to subclass"
        )
    ),
    "secrets": _shaped(Shape(("resolve",), "give a SecretResolver, such as InMemorySecretResolver({…})")),
    "prices": fault_of_prices,
    "blobs": _shaped(BLOBS),
    "transport": _shaped(Shape(("request", "stream"), "give an HttpTransport")),
}
_OPTIONAL = frozenset({"secrets", "prices", "blobs", "transport"})


def _check_ports(runtime: Runtime) -> None:
    """Raise `TypeError` for a port of the wrong shape, before any Run meets it."""
    for name, fault_of in _FAULT_OF.items():
        port = getattr(runtime, name)
        if port is None and name in _OPTIONAL:
            continue
        if fault := fault_of(port):
            raise TypeError(f"{name} is {fault}")
