"""Records that might come next: what a state implies, and near misses of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packages.core.tests.tape import Tape
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records import Record
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.state.run import RunPhase, RunStateView

Fields = dict[str, Any]


class Proposer(LogBuilder):
    """Makes the next record of a state that somebody else holds, and appends it nowhere."""

    def __init__(self, state: RunStateView) -> None:
        super().__init__(state.run_id)
        self._state, self._epoch = state, state.epoch
        self.made: list[Record] = []

    @property
    def known_entry(self) -> str:
        return next(iter(self._state.entry_ids), "qe_1")

    def _next_seq(self) -> int:
        return self._state.head_seq + 1

    def _take(self, record: Record) -> None:
        self.made.append(record)


Verb = Callable[[Proposer, int, Fields], object]
CALLS = [("pay", {"n": 1}), ("look", {"n": 2}), ("pay", {"n": 1})]
GAVE_UP = ToolFailure(kind="force_settled", message="left alone")
LENGTH: Fields = {"finish_reason": FinishReason.LENGTH}
REFUSAL: Fields = {"finish_reason": FinishReason.REFUSAL, "usage": None}
PROBED: Fields = {"probe": True, "safe_to_retry": False}
OFFLOADED: Fields = {
    "result_handle": "res_1",
    "result_blob_key": "call.1",
    "result_content_type": "application/json",
}
RETRIED: Fields = {"safe_to_retry": True}
STOP: Fields = {"next": "stop"}
EDITED: Fields = {"arguments": {"n": 9}, "arguments_digest": "c" * 64}
EXPIRED: Fields = {"cause": "expired", "approved": None}

# A verb, and which call of the turn it is about.
VERBS: dict[str, Verb] = {
    "run_admitted": lambda p, n, f: p.admitted(**f),
    "attempt_started": lambda p, n, f: p.attempt(**f),
    "abort_requested": lambda p, n, f: p.abort(**f),
    "run_settled completed": lambda p, n, f: p.settled(**{"state": "completed", **f}),
    "run_settled failed": lambda p, n, f: p.settled(**{"state": "failed", **f}),
    "turn_started": lambda p, n, f: p.turn(**f),
    "queue_enqueued steer": lambda p, n, f: p.enqueued(**f),
    "queue_enqueued follow_up": lambda p, n, f: p.enqueued(queue="follow_up", **f),
    "queue_enqueued again": lambda p, n, f: p.enqueued(entry_id=p.known_entry, **f),
    "queue_consumed": lambda p, n, f: p.consumed(**f),
    "model_call_started": lambda p, n, f: p.model_started(**f),
    "model_call_finished": lambda p, n, f: p.model_finished("text", **f),
    "model_call_finished refusal": lambda p, n, f: p.model_finished("no", **{**REFUSAL, **f}),
    "model_call_finished calls": lambda p, n, f: p.model_finished(calls=CALLS[: n + 1], **f),
    "model_call_finished cut": lambda p, n, f: p.model_finished(calls=CALLS[:1], **{**LENGTH, **f}),
    "model_call_failed": lambda p, n, f: p.model_failed(**f),
    "model_call_failed stop": lambda p, n, f: p.model_failed("auth", **{**STOP, **f}),
    "tool_call_started": lambda p, n, f: p.tool_started(n, **f),
    "tool_call_started probe": lambda p, n, f: p.tool_started(n, **{**PROBED, **f}),
    "tool_call_started retry": lambda p, n, f: p.tool_started(n, **{**RETRIED, **f}),
    "tool_call_finished ok": lambda p, n, f: p.tool_finished(n, 1, **f),
    "tool_call_finished offloaded": lambda p, n, f: p.tool_finished(n, **{**OFFLOADED, **f}),
    "tool_call_finished error": lambda p, n, f: p.tool_finished(n, outcome="error", **f),
    "tool_call_finished aborted": lambda p, n, f: p.tool_finished(n, outcome="aborted", **f),
    "tool_call_finished unknown": lambda p, n, f: p.tool_finished(n, outcome="unknown", **f),
    "tool_call_finished given up": lambda p, n, f: p.tool_finished(
        n, outcome="unknown", failure=GAVE_UP, **f
    ),
    "tool_call_finished refused": lambda p, n, f: p.refused(n, **f),
    "tool_call_finished repeated": lambda p, n, f: p.refused(n, kind="repeated_call", **f),
    "suspended": lambda p, n, f: p.suspended(n, **f),
    "resumed yes": lambda p, n, f: p.resumed(n, **f),
    "resumed yes, for all": lambda p, n, f: p.resumed(n, remember="tool", **f),
    "resumed edited": lambda p, n, f: p.resumed(n, **{**EDITED, **f}),
    "resumed no": lambda p, n, f: p.resumed(n, **{"approved": False, **f}),
    "resumed expired": lambda p, n, f: p.resumed(n, **{**EXPIRED, **f}),
}
TYPES = sorted({verb.partition(" ")[0] for verb in VERBS})
GIVEN = ["queue_enqueued steer", "queue_enqueued follow_up", "attempt_started"]
ANSWERS = ["model_call_finished calls"] * 6
WAITS = ["suspended"] * 12 + ["resumed yes", "resumed edited", "resumed no", "tool_call_started"] * 3
# What mostly follows: of a walk that drew evenly, few would come to a call, or stay open for long.
FOLLOW: dict[str, list[str]] = {
    "new": ["run_admitted"],
    "queued": [*["attempt_started"] * 4, *GIVEN],
    "ready": [*["turn_started"] * 6, *GIVEN],
    "asking": ["queue_consumed", *["model_call_started"] * 5, *GIVEN],
    "calling": [*(verb for verb in VERBS if verb.startswith("model_call")), *ANSWERS, *GIVEN],
    "acting": [*(verb for verb in VERBS if verb.startswith(("tool_call", "resumed"))), *WAITS, *GIVEN],
    "answered": [*["turn_started"] * 3, "run_settled completed", *GIVEN],
    "failed": ["run_settled failed", *GIVEN, *GIVEN],
}
MISSES: tuple[Fields, ...] = (
    {"run_id": "run_other"},
    {"tenant": "other"},
    {"seq": 1},
    {"seq": 99},
    {"epoch": 0},
    {"epoch": 1},
    {"epoch": 9},
    {"lane": "stp_1"},
)


def proposal(tape: Tape, state: RunStateView) -> Record:
    """A record of any type: mostly one that the state implies, at times beside that."""
    likely = FOLLOW.get(standing(state), ["abort_requested"])
    verb = any_verb(tape) if tape.chance(96) else tape.one_of(likely)
    proposer = Proposer(state).at(8 * tape.below(256))
    VERBS[verb](proposer, tape.below(3), tape.one_of(MISSES) if tape.chance(36) else {})
    return proposer.made[0]


def any_verb(tape: Tape) -> str:
    """Each type as often as another, however many ways there are to make its record."""
    chosen = tape.one_of(TYPES)
    return tape.one_of([verb for verb in VERBS if verb.partition(" ")[0] == chosen])


def standing(state: RunStateView) -> str:
    """The phase of the Run until it is open, then that of its lane."""
    lane = state.lanes.get("")
    return lane.phase.value if lane and state.phase is not RunPhase.QUEUED else state.phase.value
