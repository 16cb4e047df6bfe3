"""Secrets through a whole Worker: looked up by name at each use, and never seen in a log."""

import threading
from typing import Any

import pytest

from psych_runtime import AgentSpec, ModelRef, RunId, Scope, Store, ToolContext, dispatch, records
from psych_runtime.secrets.in_memory import InMemorySecretResolver
from psych_runtime.testing import FakeModel, HttpStub, Reply
from psych_runtime.testing.http_stub import SeenRequest
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime.tools.probe import Probed
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ids import derive_idempotency_key
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.tools import CodeTool
from tests.e2e.stage import ACME, at_work, ended, entries, only, registered
from tests.e2e.test_http_tools import reaching

SECRET, NEXT = "s3cret-value", "rotated-value"
JSON = {"content-type": "application/json"}


def asking(calls: int = 1) -> FakeModel:
    model = FakeModel()
    for number in range(calls):
        model.turn(tool_calls=[("look", {"n": number})])
    return model.turn("Done.")


def endpoint(stub: HttpStub, **fields: Any) -> AgentSpec:
    said = {"name": "look", "description": "Looks.", "url": f"{stub.url}/a", "credential": "crm", **fields}
    return AgentSpec(name="clerk", model=ModelRef(model="fake-1"), tools=(HttpTool.model_validate(said),))


FUNCTION = AgentSpec(name="clerk", model=ModelRef(model="fake-1"), tools=(CodeTool(name="look"),))


async def logged(store: Store, run_id: RunId) -> bytes:
    return b"\n".join(entry.body for entry in await entries(store, run_id))


async def told(model: FakeModel) -> str:
    return "\n".join(message.model_dump_json() for message in model.last_request.messages)


async def ends(store: Store, run_id: RunId) -> list[ToolCallFinished]:
    return only(ToolCallFinished, await records(store, run_id))


async def test_a_secret_that_is_rotated_in_the_middle_is_used_from_the_next_call_on(store: Store) -> None:
    resolver = InMemorySecretResolver({("acme", "crm"): SECRET})

    def answer(_request: SeenRequest) -> Reply:
        resolver.put(Scope(tenant="acme"), "crm", NEXT)
        return Reply(json=1)

    async with HttpStub() as stub:
        stub.on("POST", "/a", answer)
        async with at_work(store, asking(2), runtime=reaching(secrets=resolver)):
            run_id = (await dispatch(store, endpoint(stub), ACME, input="Hello.")).run_id
            await ended(store, run_id)
        sent = [seen.headers["authorization"] for seen in stub.requests]
    assert sent == [f"Bearer {SECRET}", f"Bearer {NEXT}"]


@pytest.mark.parametrize("status", [200, 403], ids=["a result", "an error"])
async def test_a_secret_that_an_api_echoes_is_masked_everywhere(store: Store, status: int) -> None:
    def echo(request: SeenRequest) -> Reply:
        return Reply(status=status, json={"you sent": request.headers["authorization"]})

    model = asking()
    async with HttpStub() as stub:
        stub.on("POST", "/a", echo)
        secrets = InMemorySecretResolver({("acme", "crm"): SECRET})
        async with at_work(store, model, runtime=reaching(secrets=secrets)):
            run_id = (await dispatch(store, endpoint(stub), ACME, input="Hello.")).run_id
            await ended(store, run_id)
    for text in (await logged(store, run_id), (await told(model)).encode()):
        assert SECRET.encode() not in text
        assert b"Bearer [secret:crm]" in text


async def raising(context: ToolContext) -> Any:
    raise ValueError((await context.secret("crm")).get_secret_value())


async def returning(context: ToolContext) -> Any:
    return {"key": (await context.secret("crm")).get_secret_value()}


async def writing(context: ToolContext) -> Any:
    return ToolOutput(
        None, (File("a", "text/plain", (await context.secret("crm")).get_secret_value().encode()),)
    )


async def overflowing(context: ToolContext) -> Any:
    return (await context.secret("crm")).get_secret_value() * 100_000


@pytest.mark.parametrize("tell", [raising, returning, writing, overflowing])
async def test_a_tool_that_tells_its_secret_tells_its_name(store: Store, tell: Any) -> None:
    async def look(n: int, context: ToolContext) -> Any:
        """Looks."""
        return await tell(context)

    model, secrets = asking(), InMemorySecretResolver({("acme", "crm"): SECRET})
    async with at_work(store, model, registered(look), runtime={"secrets": secrets}):
        run_id = (await dispatch(store, FUNCTION, ACME, input="Hello.")).run_id
        await ended(store, run_id)
    for text in (await logged(store, run_id), (await told(model)).encode()):
        assert SECRET.encode() not in text
    (end,) = await ends(store, run_id)
    assert "[secret:crm]" in f"{end!r}"


async def test_a_probe_that_tells_its_secret_tells_its_name(store: Store) -> None:
    released = threading.Event()

    def look(n: int) -> None:
        """Looks, and nobody hears of its end."""
        released.wait(10)

    async def probe(key: str, context: ToolContext) -> Probed:
        return Probed("done", f"{key} {(await context.secret('crm')).get_secret_value()}")

    secrets = InMemorySecretResolver({("acme", "crm"): SECRET})
    registry = registered(look, probe=probe, timeout_seconds=0.05)
    async with at_work(store, asking(), registry, runtime={"secrets": secrets}):
        run_id = (await dispatch(store, FUNCTION, ACME, input="Hello.")).run_id
        await ended(store, run_id)
    released.set()
    (end,) = await ends(store, run_id)
    assert end.result == f"{derive_idempotency_key(run_id, end.call_id)} [secret:crm]"
    assert SECRET.encode() not in await logged(store, run_id)


async def test_two_tenants_never_get_each_others(store: Store) -> None:
    seen: dict[str, str] = {}

    async def look(n: int, context: ToolContext) -> str:
        """Looks."""
        seen[context.scope.tenant] = (await context.secret("crm")).get_secret_value()
        return "found"

    secrets = InMemorySecretResolver({("acme", "crm"): "of-acme-value", ("globex", "crm"): "of-globex-value"})
    runs: list[RunId] = []
    for tenant in ("acme", "globex", "initech"):
        async with at_work(store, asking(), registered(look), runtime={"secrets": secrets}):
            runs.append((await dispatch(store, FUNCTION, Scope(tenant=tenant), input="Hello.")).run_id)
            await ended(store, runs[-1])
    assert seen == {"acme": "of-acme-value", "globex": "of-globex-value"}
    kinds = [end.failure and end.failure.kind for run_id in runs for end in await ends(store, run_id)]
    assert kinds == [None, None, "credential_not_found"]


async def test_without_its_credential_an_endpoint_sends_nothing_and_says_what_to_do(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    model = asking()
    async with HttpStub() as stub:
        async with at_work(store, model, runtime=reaching()):
            run_id = (await dispatch(store, endpoint(stub), ACME, input="Hello.")).run_id
            await ended(store, run_id)
        assert stub.connections == 0
    (end,) = await ends(store, run_id)
    assert end.failure is not None
    assert (end.outcome, end.failure.kind, end.failure.transient) == ("error", "credential_not_found", False)
    assert "'crm'" in end.failure.message
    assert "Tell the user" in await told(model)
    (warned,) = [each.getMessage() for each in caplog.records if each.name == "psych_runtime.attempt"]
    assert "credential 'crm' is not set for this tenant; add it to what `secrets=` reads" in warned


async def test_what_a_tool_says_of_its_refusal_is_logged_in_one_line_without_its_secret(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def look(n: int, context: ToolContext) -> Any:
        """Looks."""
        raise AccessDenied("a\nb", (await context.secret("crm")).get_secret_value() + "x" * 5_000)

    secrets = InMemorySecretResolver({("acme", "crm"): SECRET})
    async with at_work(store, asking(), registered(look), runtime={"secrets": secrets}):
        run_id = (await dispatch(store, FUNCTION, ACME, input="Hello.")).run_id
        await ended(store, run_id)
    (warned,) = [each.getMessage() for each in caplog.records if each.name == "psych_runtime.attempt"]
    assert "access to a b is denied: [secret:crm]xxx" in warned
    assert len(warned) < 1_200
