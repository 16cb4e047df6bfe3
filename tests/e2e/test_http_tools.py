"""HTTP tools through a whole Worker: what is sent, what is recorded, what is refused, what survives."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from psych_runtime import (
    AgentSpec,
    AllowAll,
    Decision,
    HttpTransport,
    Limits,
    ModelRef,
    RunId,
    RunStateView,
    Scope,
    Store,
    ToolRegistry,
    Worker,
    approve,
    deny,
    dispatch,
    interrupt,
    records,
    status,
)
from psych_runtime.egress.policy import AllowAllEgress
from psych_runtime.testing import FakeModel, HttpStub, Reply, StoreProxy
from psych_runtime_core.errors import StoreUnavailable
from psych_runtime_core.ids import ToolCallId, derive_idempotency_key
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolClass, ToolDefinition, ToolResultMessage
from psych_runtime_core.ports.egress import EgressEvent
from psych_runtime_core.records.tool import ToolCallFinished, ToolCallStarted
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.texts import UNKNOWN
from tests.e2e.stage import ACME, at_work, ended, only, results, seen

T = TypeVar("T")
ORDER = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def order(stub: HttpStub, method: str = "GET", **fields: Any) -> HttpTool:
    """A tool that does something with an order."""
    url = f"{stub.url}/orders/{{id}}"
    said = {"name": "order", "description": "An order.", "url": url, "input_schema": ORDER, "method": method}
    return HttpTool.model_validate({**said, **fields})


def clerk(*tools: HttpTool | CodeTool, **fields: Any) -> AgentSpec:
    return AgentSpec(name="clerk", model=ModelRef(model="fake-1"), tools=tools, **fields)


def asking(arguments: Any = None, tool: str = "order") -> FakeModel:
    return FakeModel().turn(tool_calls=[(tool, {"id": 7} if arguments is None else arguments)]).turn("Done.")


def reaching(**runtime: Any) -> dict[str, Any]:
    """A Runtime that may reach this machine."""
    return {"transport": HttpTransport(policy=AllowAllEgress()), **runtime}


async def served(store: Store, spec: AgentSpec, model: FakeModel, **runtime: Any) -> RunId:
    """The Run, after its end."""
    async with at_work(store, model, runtime=reaching(**runtime)):
        run_id = (await dispatch(store, spec, ACME, input="Hello.")).run_id
        await ended(store, run_id)
    return run_id


async def the_end(store: Store, run_id: RunId) -> ToolCallFinished:
    (end,) = await results(store, run_id)
    return end


# --- one call --------------------------------------------------------------------------------------------


async def test_a_call_is_sent_and_its_reply_is_the_result(store: Store) -> None:
    async with HttpStub() as stub:
        stub.on("GET", "/orders/7", Reply(json={"status": "shipped"}))
        run_id = await served(store, clerk(order(stub)), asking())
        (request,) = stub.requests
    assert (request.method, request.target, request.body) == ("GET", "/orders/7", b"")
    end = await the_end(store, run_id)
    assert (end.outcome, end.result) == ("ok", {"status": "shipped"})


async def test_it_is_offered_and_recorded_like_any_tool(store: Store) -> None:
    async with HttpStub() as stub:
        stub.on("GET", "/orders/7", Reply(status=204))
        model = asking()
        run_id = await served(store, clerk(order(stub)), model)
    assert [tool.name for tool in model.last_request.tools] == ["order"]
    log = await records(store, run_id)
    answer = only(ModelCallFinished, log)[0]
    assert answer.sent.tools is not None
    assert [(tool.name, tool.source, tool.tool_class) for tool in answer.sent.tools] == [
        ("order", "http", ToolClass.READ_ONLY)
    ]
    (start,) = only(ToolCallStarted, log)
    assert (start.tool, start.tool_class, start.safe_to_retry, start.probe) == (
        "order",
        "read-only",
        True,
        False,
    )
    assert (start.interruptible, start.decision) == (True, "allowed")


async def test_arguments_that_do_not_fit_the_schema_or_their_place_send_nothing(store: Store) -> None:
    async with HttpStub() as stub:
        spec = clerk(order(stub), order(stub, name="any", input_schema={}))
        model = (
            FakeModel()
            .turn(tool_calls=[("order", {"id": "x"}), ("any", {"id": "../7"}), ("any", {})])
            .turn("Done.")
        )
        run_id = await served(store, spec, model)
        assert stub.requests == ()
    ends = await results(store, run_id)
    assert [(end.outcome, end.failure and end.failure.kind) for end in ends] == [
        ("refused", "invalid_arguments")
    ] * 3
    told = [end.failure.message for end in ends if end.failure]
    assert [text.partition(":")[0] for text in told] == ["id"] * 3


async def test_loopback_is_not_reached_by_default_and_only_operators_are_told_why(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async with HttpStub() as stub:
        run_id = await served(store, clerk(order(stub)), asking(), transport=HttpTransport())
        assert stub.connections == 0
        url = stub.url
    end = await the_end(store, run_id)
    assert end.failure is not None
    assert (end.outcome, end.failure.kind, end.failure.transient) == ("error", "access_denied", False)
    assert "loopback" not in end.failure.message
    assert "loopback" in (end.failure.traceback or "")
    (warned,) = [each.getMessage() for each in caplog.records if each.name == "psych_runtime.attempt"]
    assert warned.startswith(f"{end.call_id}: the tool 'order' was kept out: access to {url} is denied")
    assert f"PublicOnly(allow=('{url}',)) would allow it" in warned


async def test_the_audit_of_the_transport_names_the_run(store: Store) -> None:
    events: list[EgressEvent] = []
    transport = HttpTransport(policy=AllowAllEgress(), audit=events.append)
    async with HttpStub() as stub:
        stub.on("GET", "/orders/7", Reply(json=1))
        run_id = await served(store, clerk(order(stub)), asking(), transport=transport)
    assert [(event.run_id, event.tenant, event.purpose) for event in events] == [(run_id, "acme", "tool")]


async def test_an_endpoint_and_a_function_stand_side_by_side(store: Store) -> None:
    async def note(text: str) -> str:
        """Write it down."""
        return f"noted {text}"

    registry = ToolRegistry()
    registry.register(note)
    async with HttpStub() as stub:
        stub.on("GET", "/orders/7", Reply(json="shipped"))
        model = FakeModel().turn(tool_calls=[("note", {"text": "a"}), ("order", {"id": 7})]).turn("Done.")
        spec = clerk(CodeTool(name="note"), order(stub))
        async with at_work(store, model, registry, runtime=reaching()):
            run_id = (await dispatch(store, spec, ACME, input="Hello.")).run_id
            await ended(store, run_id)
    assert {end.tool: end.result for end in await results(store, run_id)} == {
        "note": "noted a",
        "order": "shipped",
    }


# --- policy, selectors, people ---------------------------------------------------------------------------


class Amounts(AllowAll):
    """Sees what a call would do, and what it is."""

    def __init__(self) -> None:
        self.asked: list[tuple[ToolDefinition, JsonObject]] = []

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        del scope
        self.asked.append((tool, arguments))
        return Decision.deny("Order 7 is closed.")


async def test_a_policy_sees_the_tool_and_its_arguments_and_may_deny(store: Store) -> None:
    policy = Amounts()
    async with HttpStub() as stub:
        run_id = await served(store, clerk(order(stub, "PUT")), asking(), policy=policy)
        assert stub.requests == ()
    ((tool, arguments),) = {
        (tool, str(arguments)): (tool, arguments) for tool, arguments in policy.asked
    }.values()
    assert (tool.name, set(tool.annotations), arguments) == ("order", {"write"}, {"id": 7})
    end = await the_end(store, run_id)
    assert end.failure is not None
    assert (end.outcome, end.failure.kind) == ("refused", "access_denied")
    assert end.failure.message.startswith("Order 7 is closed.")


class Nothing(AllowAll):
    async def permitted_tools(self, scope: Scope, source: str | None) -> Sequence[str] | None:
        del scope, source
        return ()


async def test_a_tool_that_the_tenant_may_not_have_is_neither_offered_nor_run(store: Store) -> None:
    async with HttpStub() as stub:
        model = asking()
        run_id = await served(store, clerk(order(stub)), model, policy=Nothing())
        assert stub.requests == ()
    assert model.last_request.tools == ()
    end = await the_end(store, run_id)
    assert end.failure is not None
    assert end.failure.kind == "access_denied"


@pytest.mark.parametrize(
    ("answer", "sent"), [pytest.param(approve, 1, id="yes"), pytest.param(deny, 0, id="no")]
)
async def test_a_delete_waits_for_a_person(store: Store, answer: Any, sent: int) -> None:
    async with HttpStub() as stub:
        stub.on("DELETE", "/orders/7", Reply(status=204))
        async with at_work(store, asking(), runtime=reaching()):
            run_id = (await dispatch(store, clerk(order(stub, "DELETE")), ACME, input="Hello.")).run_id
            await seen(store, run_id, lambda state: bool(state.waits))
            (pending,) = (await status(store, run_id)).pending_approvals
            assert (pending.tool, pending.tool_class) == ("order", "destructive")
            assert stub.requests == ()
            await answer(store, run_id)
            await ended(store, run_id)
        assert len(stub.requests) == sent
    assert (await the_end(store, run_id)).outcome == ("ok" if sent else "refused")


# --- cut short -------------------------------------------------------------------------------------------


async def test_an_abort_cuts_a_call_that_hangs(store: Store) -> None:
    async with HttpStub() as stub:
        stub.on("POST", "/orders/7", Reply(json=1))
        stub.hang()
        async with at_work(store, asking(), runtime=reaching()):
            run_id = (await dispatch(store, clerk(order(stub, "POST")), ACME, input="Hello.")).run_id
            (request,) = await stub.wait_for(1)
            await interrupt(store, run_id)
            await request.closed_early()
            await ended(store, run_id)
    assert (await the_end(store, run_id)).outcome == "aborted"


@pytest.mark.parametrize(
    ("method", "outcome"),
    [pytest.param("GET", "error", id="GET"), pytest.param("POST", "unknown", id="POST")],
)
async def test_a_request_without_a_reply_may_have_done_what_it_asked(
    store: Store, method: str, outcome: str
) -> None:
    model = asking()
    async with HttpStub() as stub:
        stub.on(method, "/orders/7", Reply(json=1))
        stub.reset()
        run_id = await served(store, clerk(order(stub, method, safe_to_retry=False)), model)
        assert len(stub.requests) == 1
    end = await the_end(store, run_id)
    assert end.failure is not None
    assert (end.outcome, end.failure.kind) == (outcome, "http_error")
    said = [message.text for message in model.last_request.messages if isinstance(message, ToolResultMessage)]
    assert (said == [UNKNOWN]) is (method == "POST")


async def test_nothing_is_sent_after_the_deadline(store: Store) -> None:
    async with HttpStub() as stub:
        stub.on("GET", "/orders/7", Reply(status=503, headers={"Retry-After": "60"}))
        spec = clerk(order(stub), limits=Limits(deadline_seconds=60))
        run_id = await served(store, spec, asking())
        assert len(stub.requests) == 1
    end = await the_end(store, run_id)
    assert end.failure is not None
    assert (end.failure.kind, end.failure.code, end.failure.retry_after_seconds) == (
        "http_error",
        "503",
        60.0,
    )


# --- crashes ---------------------------------------------------------------------------------------------


class Dying(StoreProxy):
    """A store that is gone for its Worker from the first reply on: the effect stands and is not recorded."""

    def __init__(self, store: Store, replied: asyncio.Event) -> None:
        super().__init__(store)
        self._replied = replied

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        if self._replied.is_set():
            raise StoreUnavailable(name, "no route", "none")
        return await call()


@asynccontextmanager
async def dead_worker(
    store: Store, stub: HttpStub, spec: AgentSpec, model: FakeModel
) -> AsyncGenerator[RunId]:
    """A Run whose Worker died behind its first request, and whom another one finds."""
    replied = asyncio.Event()
    first = Dying(store, replied)

    def reply(_request: object) -> Reply:
        replied.set()
        return Reply(json={"try": len(stub.requests)})

    for method in ("GET", "POST"):
        stub.on(method, "/orders/7", reply)
    worker: Worker
    async with at_work(first, model, runtime=reaching(), worker_id="first", lease_seconds=1) as worker:
        run_id = (await dispatch(store, spec, ACME, input="Hello.")).run_id
        await replied.wait()
        worker.stop()
    async with at_work(store, model, runtime=reaching(), worker_id="second", poll_interval=0.1):
        yield run_id


KEYED = {"idempotency_header": "Idempotency-Key"}


@pytest.mark.parametrize(
    ("method", "fields", "sent", "outcome"),
    [
        pytest.param("GET", {}, 2, "ok", id="a GET is sent again"),
        pytest.param("POST", {"safe_to_retry": True}, 2, "ok", id="a POST that says it is safe too"),
        pytest.param("POST", {}, 1, "unknown", id="any other is not, and nobody knows"),
        pytest.param("GET", {"safe_to_retry": False}, 1, "unknown", id="nor is a GET that says no"),
    ],
)
async def test_a_crash_behind_the_request(
    store: Store, method: str, fields: dict[str, Any], sent: int, outcome: str
) -> None:
    async with HttpStub() as stub:
        model = asking()
        spec = clerk(order(stub, method, **fields, **KEYED))
        async with dead_worker(store, stub, spec, model) as run_id:
            state: RunStateView = await ended(store, run_id)
        keys = [request.headers["idempotency-key"] for request in stub.requests]
    assert state.terminal_state == "completed"
    (call_id,) = {start.call_id for start in only(ToolCallStarted, await records(store, run_id))}
    assert keys == [derive_idempotency_key(run_id, ToolCallId(call_id))] * sent
    end = await the_end(store, run_id)
    assert (end.outcome, end.result) == (outcome, {"try": 2} if sent == 2 else None)
