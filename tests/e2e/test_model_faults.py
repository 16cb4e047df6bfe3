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
