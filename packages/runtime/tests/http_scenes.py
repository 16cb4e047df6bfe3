"""HTTP tools called outside any Run, against a stub: each test says which tool, and what the stub answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from psych_runtime import InMemoryStore, Runtime, ToolRegistry
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.testing import FakeModel
from psych_runtime.testing.http_stub import HttpStub
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.convert import Converted
from psych_runtime.tools.ending import Raised, Returned
from psych_runtime.tools.http.endpoint import HttpEndpoint
from psych_runtime.tools.invoke import CodeRun
from psych_runtime.tools.problem import Problem
from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.ports.secrets import SecretResolver
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.http_tool import HttpTool

START = datetime(2026, 1, 1, tzinfo=UTC)
ANN = Scope(tenant="acme", principal="ann")


@dataclass
class HastyClock:
    """Sleeping takes no time and is noted; the clock reads as if it had been slept."""

    slept: list[float] = field(default_factory=list[float])

    def now(self) -> datetime:
        return START + timedelta(seconds=sum(self.slept))

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def runtime_of(transport: HttpTransport | None = None, secrets: SecretResolver | None = None) -> Runtime:
    """A Runtime that may reach this machine."""
    return Runtime(
        store=InMemoryStore(),
        model=FakeModel(),
        registry=ToolRegistry(),
        transport=transport or HttpTransport(policy=AllowAllEgress()),
        secrets=secrets,
    )


def context_in(runtime: Runtime | None, scope: Scope = ANN, deadline: datetime | None = None) -> ToolContext:
    return ToolContext(
        scope=scope,
        run_id=RunId("run_1"),
        call_id=ToolCallId("call_1"),
        tool="t",
        idempotency_key="idem_1",
        deadline=deadline,
        runtime=runtime,
    )


def http_tool(stub: HttpStub, path: str = "/a", method: str = "GET", **fields: Any) -> HttpTool:
    said = {"name": "t", "description": "d", "url": stub.url + path, "method": method, **fields}
    return HttpTool.model_validate(said)


@dataclass
class Calls:
    """Calls of one tool, one after another."""

    tool: HttpTool
    context: ToolContext = field(default_factory=lambda: context_in(runtime_of()))
    clock: HastyClock = field(default_factory=HastyClock)

    async def ending(self, arguments: Mapping[str, Any] | None = None) -> Returned | Raised:
        endpoint = HttpEndpoint(self.tool, self.clock)
        values = endpoint.validate(arguments or {})
        assert not isinstance(values, Problem)
        ending = await CodeRun(endpoint.bind(values, self.context), threads=None, context=None).wait()
        assert isinstance(ending, Returned | Raised)
        return ending

    async def result(self, **arguments: Any) -> object:
        ending = await self.ending(arguments)
        assert isinstance(ending, Returned), ending
        assert isinstance(ending.value, Converted), ending
        return ending.value.files[0] if ending.value.files else ending.value.value

    async def error(self, **arguments: Any) -> BaseException:
        ending = await self.ending(arguments)
        assert isinstance(ending, Raised), ending
        return ending.error
