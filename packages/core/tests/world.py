"""A world for Runs without I/O: a model, tools and people that do whatever a tape says."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from packages.core.tests.proposals import Proposer
from packages.core.tests.tape import Tape
from psych_runtime_core.engine.effects import CallModel, ModelProblem, RunTool
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.engine.retry import failed_call
from psych_runtime_core.ids import ToolCallId
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.state.calls import CallState
from psych_runtime_core.state.run import RunStateView

# What each tool says of itself. `ship` passes its idempotency key on: one that is not done begins again.
TOOLS: dict[str, dict[str, bool]] = {
    "pay": {},
    "read": {"safe_to_retry": True},
    "ship": {"probe": True},
    "wire": {"probe": True},
}
ONCE = frozenset(TOOLS) - {"read"}
BUSY = ToolFailure(kind="transient", message="busy", transient=True)
HINTED = ToolFailure(kind="transient", message="later", transient=True, retry_after_seconds=20)
GONE = ToolFailure(kind="permanent", message="gone", code="model_not_found")
REFUSED = ToolFailure(kind="auth", message="no key")
PROBLEMS = (BUSY, HINTED, GONE, REFUSED)
LEFT = ToolFailure(kind="force_settled", message="left alone")
# What the model mostly does comes first, and the tape's end is its first choice: an answer.
ANSWERS = (
    *("text", *["calls"] * 20, *["problem"] * 4),
    *("pause", "refusal", "cut", "cut calls", "cut calls", "filtered", "filtered calls"),
)
ANSWER_SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"const": 1}}}
EDITED: dict[str, Any] = {"arguments": {"n": 9}, "arguments_digest": "9" * 64}


@dataclass
class World:
    """`ran` holds every call that really ran, each time that it did."""

    tape: Tape
    plan: Plan
    ran: list[tuple[ToolCallId, str]] = field(default_factory=list[tuple[ToolCallId, str]])

    # --- who comes first ---------------------------------------------------------------------------------

    def is_slow(self, begin: RunTool) -> bool:
        """Whether this `begin` waits for somebody: a Policy, or a free slot."""
        return self.tape.chance(64)

    def is_first(self) -> bool:
        """Whether a person writes before the Worker's commit lands."""
        return self.tape.chance(40)

    def is_a_person_next(self) -> bool:
        """Whether, with nothing in flight, a person acts before the time that the engine named has come."""
        return self.tape.below(4) > 0

    # --- the model ---------------------------------------------------------------------------------------

    def answer(self, state: RunStateView, effect: CallModel, now: datetime) -> Record:
        kind, model = self.tape.one_of(ANSWERS), Proposer(state)
        finish: dict[str, Any] = {}
        if kind == "problem":
            problem = ModelProblem(self.tape.one_of(PROBLEMS))
            return failed_call(self.plan, state, state.lanes[effect.lane], problem, now)
        if kind in {"pause", "refusal"}:
            finish["finish_reason"] = FinishReason(kind)
        elif kind.startswith("cut"):
            finish["finish_reason"] = FinishReason.LENGTH
        elif kind.startswith("filtered"):
            finish["finish_reason"] = FinishReason.CONTENT_FILTER
        calls = [self._call() for _ in range(1 + self.tape.below(3))] if kind.endswith("calls") else []
        model.model_finished("" if calls else self._text(kind), calls, **finish)
        return model.made[0]

    def _text(self, kind: str) -> str:
        """Under a schema mostly what fits it."""
        fits = self.plan.spec.output_schema is not None and self.tape.below(3) == 0
        return '{"n": 1}' if fits else kind

    def _call(self) -> tuple[str, dict[str, int]]:
        if self.plan.spec.output_schema is not None and self.tape.below(4) == 0:
            return "final_answer", {"n": self.tape.below(2)}
        return self.tape.one_of(sorted(TOOLS)), {"n": self.tape.below(6)}

    # --- its tools ---------------------------------------------------------------------------------------

    def begin(self, state: RunStateView, effect: RunTool, now: datetime) -> Record:
        """Start the call, refuse it, or ask a person where none was asked yet."""
        call, tools = state.calls[effect.call_id], Proposer(state)
        choice = self.tape.below(8)
        if choice == 7:
            over = tools.tool_finished if call.phase == "started" else tools.refused
            over(call.call_id, **({"outcome": "unknown"} if call.phase == "started" else {}))
        elif choice > 4 and not call.waits_opened and call.phase == "announced":
            tools.suspended(call.call_id, due_at=now + timedelta(seconds=60))
        else:
            tools.tool_started(call.call_id, **TOOLS[call.name])
        return tools.made[0]

    def start(self, call: CallState) -> None:
        """The tool runs; what it does is done, whoever sees it."""
        self.ran.append((call.call_id, call.name))

    def result(self, state: RunStateView, effect: RunTool) -> Record:
        tools = Proposer(state)
        outcome = self.tape.one_of(("ok", "ok", "ok", "error"))
        result = self.tape.below(3) if outcome == "ok" else None
        tools.tool_finished(effect.call_id, result, outcome=outcome)
        return tools.made[0]

    def cut_short(self, state: RunStateView, effect: RunTool) -> Record:
        """A running call is told to stop: it does, it is done by then, or it is left alone."""
        tools, choice = Proposer(state), self.tape.below(3)
        told: dict[str, Any] = {"outcome": "unknown", "failure": LEFT}
        fields: dict[str, Any] = ({"outcome": "aborted"}, {"outcome": "ok"}, told)[choice]
        tools.tool_finished(effect.call_id, **fields)
        return tools.made[0]

    def probe(self, state: RunStateView, effect: RunTool) -> Record:
        """A done call has its result; one that is not begins again where its key goes along."""
        call, tools = state.calls[effect.call_id], Proposer(state)
        if any(call_id == call.call_id for call_id, _ in self.ran):
            tools.tool_finished(call.call_id, 1, recovered=True)
        elif call.name == "ship":
            tools.tool_started(call.call_id, **TOOLS["ship"])
        else:
            tools.tool_finished(call.call_id, outcome="unknown")
        return tools.made[0]

    # --- people ------------------------------------------------------------------------------------------

    def person(self, state: RunStateView) -> Record:
        """Somebody sends a message, answers a Wait, or stops the Run."""
        people, choice = Proposer(state), self.tape.below(16)
        # A Run is stopped more often while a call is running: that is when it matters.
        running = any(call.phase == "started" for call in state.calls.values())
        if choice < (5 if running else 1):
            people.abort("enough")
        elif choice < 6 or not state.open_waits:
            people.enqueued(queue=self.tape.one_of(("steer", "follow_up")))
        else:
            call = self.tape.one_of(state.open_waits).call_id
            remember = {"remember": "tool"} if choice % 2 else {}
            fields: dict[str, Any] = (remember, {"approved": False}, EDITED)[choice % 3]
            people.resumed(call, **fields)
        return people.made[0]
