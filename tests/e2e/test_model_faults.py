"""What a scripted model breaks with is what the log says of it."""

import pytest

from psych_runtime import InMemoryStore, records
from psych_runtime.testing import FakeModel, VirtualClock
from psych_runtime_core.records.turn import ModelCallFailed
from psych_runtime_core.spec.limits import Limits
from tests.e2e.stage import agent, at_work, begun, ended, in_virtual_time, only

ONCE = agent(limits=Limits(transient_retry_budget=0))


@pytest.mark.parametrize(
    ("model", "kind", "code", "retry_after"),
    [
        pytest.param(FakeModel().raises_transient(), "transient", None, None, id="transient"),
        pytest.param(FakeModel().fails("transient", retry_after=7), "transient", None, 7.0, id="with a hint"),
        pytest.param(FakeModel().raises_permanent(), "permanent", None, None, id="permanent"),
        pytest.param(
            FakeModel().overflows().repeat(),
            "context_overflow",
            "context_length_exceeded",
            None,
            id="overflow",
        ),
        pytest.param(FakeModel().filters(), "content_filter", "content_filter", None, id="filter"),
        pytest.param(FakeModel().rejects_auth(), "auth", "invalid_api_key", None, id="auth"),
        pytest.param(FakeModel().aborts_mid_token("half"), "transient", "truncated", None, id="mid token"),
        pytest.param(FakeModel().aborts_mid_call("f", "{"), "transient", "truncated", None, id="mid call"),
        pytest.param(FakeModel().stalls(), "transient", "idle", None, id="stall"),
        pytest.param(FakeModel().turn(), "empty_response", None, None, id="nothing said"),
        pytest.param(FakeModel(), "permanent", None, None, id="a script at its end"),
    ],
)
@in_virtual_time
async def test_a_fault_is_recorded_as_its_kind(
    model: FakeModel, kind: str, code: str | None, retry_after: float | None
) -> None:
    store = InMemoryStore(clock=VirtualClock())
    async with at_work(store, model):
        run_id = await begun(store, ONCE)
        state = await ended(store, run_id)
    failed = only(ModelCallFailed, await records(store, run_id))[-1].failure
    assert (failed.kind, failed.code, failed.retry_after_seconds) == (kind, code, retry_after)
    assert failed.transient is (kind in {"transient", "empty_response"})
    assert state.settled is not None
    assert state.settled.failure is not None
    assert state.settled.failure.kind == kind


@in_virtual_time
async def test_a_call_that_is_made_again_is_a_warning_that_quotes_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = FakeModel().fails(
        "transient", status=503, code="overloaded", message="it said sk-1 to 'the prompt'"
    )
    model.fails("transient", status=429, code="key sk-2 is busy", retry_after=20).rejects_auth()
    store = InMemoryStore(clock=VirtualClock())
    async with at_work(store, model):
        run_id = await begun(store, agent(limits=Limits(transient_retry_budget=2)))
        await ended(store, run_id)
    name = only(ModelCallFailed, await records(store, run_id))[0].model
    told = [record for record in caplog.records if record.name == "psych_runtime.attempt"]
    first, second = [record.getMessage() for record in told]
    assert {record.levelname for record in told} == {"WARNING"}
    assert first.startswith(f"{run_id}: a call of {name} failed (transient, code overloaded, status 503); ")
    assert first.endswith(" s, retry 1 of 2")
    assert f"failed (transient, status 429); {name} is asked in 2" in second
    assert second.endswith(" s, retry 2 of 2")
    assert "sk-" not in caplog.text
    assert "prompt" not in caplog.text
