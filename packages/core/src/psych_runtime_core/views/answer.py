"""What a Run answered, apart from the work that led there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psych_runtime_core.errors import DeadlineExceeded, RunAborted, RunFailed
from psych_runtime_core.ids import RunId, ToolCallId
from psych_runtime_core.jsonvalue import Json, json_text
from psych_runtime_core.ports.runs import Lifecycle
from psych_runtime_core.records.facts import FailureKind, TerminalState, ToolFailure, ToolOutcome
from psych_runtime_core.records.turn import ModelCallFinished
from psych_runtime_core.state.run import Settlement
from psych_runtime_core.views.lifecycle import lifecycle_of
from psych_runtime_core.views.projection import RunProjection
from psych_runtime_core.views.transcript import CallRecords, TurnRecords


@dataclass(frozen=True, slots=True)
class ToolCallView:
    """A call and what came of it: `outcome` and all that is behind it is None while it is unfinished.

    `arguments` is the object that runs, the raw text where the model wrote none, None once erased.
    """

    call_id: ToolCallId
    tool: str
    arguments: Json
    outcome: ToolOutcome | None
    result: Json
    preview: str | None
    result_handle: str | None
    failure_message: str | None
    duration_seconds: float | None
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class WorkTurn:
    """What a turn said and did. A try that failed is one of its own, with the failure and without a text."""

    lane: str
    turn: int
    text: str
    reasoning: str
    tool_calls: tuple[ToolCallView, ...]
    failure_message: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The answer of a Run and the work behind it.

    `text` and `output` are set when `finished` alone, so that no text of a Run that failed, was stopped or
    still works passes for its answer. `work` holds every turn but the answer's own.
    """

    run_id: RunId
    lifecycle: Lifecycle
    terminal_state: TerminalState | None
    text: str | None
    output: Mapping[str, object] | None
    finished: bool
    failure: ToolFailure | None
    work: tuple[WorkTurn, ...]

    @property
    def tool_call_count(self) -> int:
        return sum(len(turn.tool_calls) for turn in self.work)

    def result(self) -> Any:
        """The answer: its value under an `output_schema`, else its text, a `str`.

        Raises `RunFailed` of a Run that failed, `DeadlineExceeded` of one that its deadline stopped,
        `RunAborted` of any other end, and `TimeoutError` of a Run that has not ended.
        """
        if self.text is not None:
            return (self.output or {}).get("value", self.text)
        if self.terminal_state is None:
            waits = "; see status(…).pending_approvals" if self.lifecycle is Lifecycle.WAITING else ""
            raise TimeoutError(f"{self.run_id} has no answer yet: it is {self.lifecycle.value}{waits}")
        if self.terminal_state is TerminalState.FAILED:
            raise RunFailed(self.run_id, self.failure)
        stopped_by_deadline = self.failure is not None and self.failure.kind == FailureKind.DEADLINE
        ended = DeadlineExceeded if stopped_by_deadline else RunAborted
        raise ended(self.run_id, self.terminal_state.value)

    def summary(self) -> str:
        """How much work it was, such as `2 turns, 3 tool calls`; `""` for none."""
        turns = len({(turn.lane, turn.turn) for turn in self.work})
        counts = ((turns, "turn"), (self.tool_call_count, "tool call"))
        return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count)


def answer_of(view: RunProjection) -> AnswerView:
    """The answer of the Run, if it has one, and its work so far."""
    settled = view.state.settled
    answer = settled if settled and settled.state is TerminalState.COMPLETED else None
    return AnswerView(
        run_id=view.run_id,
        lifecycle=lifecycle_of(view.state),
        terminal_state=view.state.terminal_state,
        text=_text_of(answer) if answer else None,
        output=answer.output if answer else None,
        finished=answer is not None,
        failure=settled.failure if settled else None,
        work=tuple(_work(view, answer.answer_seq if answer else None)),
    )


def _text_of(answer: Settlement) -> str:
    """The text of an output, else its JSON; of an erased one nothing."""
    if answer.output is None:
        return ""
    text = answer.output.get("text")
    return text if isinstance(text, str) else json_text(answer.output)


def _work(view: RunProjection, answer_seq: int | None) -> Iterator[WorkTurn]:
    for turn in view.turns:
        for each in turn.tries:
            if each.failed is not None:
                yield _work_turn(turn, failure_message=each.failed.failure.message)
        last = turn.tries[-1] if turn.tries else None
        said = last.finished if last else None
        if (last is None or last.failed is None) and not _is_the_answer(turn, said, answer_seq):
            yield _work_turn(turn, said)


def _is_the_answer(turn: TurnRecords, said: ModelCallFinished | None, answer_seq: int | None) -> bool:
    """Whether this turn gave the answer, as its text or by a call."""
    ends = (call.finished.seq for call in turn.calls if call.finished)
    return answer_seq is not None and answer_seq in (said.seq if said else None, *ends)


def _work_turn(
    turn: TurnRecords, said: ModelCallFinished | None = None, failure_message: str | None = None
) -> WorkTurn:
    return WorkTurn(
        lane=turn.started.lane,
        turn=turn.started.turn,
        text=said.text if said else "",
        reasoning=said.reasoning if said else "",
        tool_calls=tuple(_call_view(call) for call in turn.calls) if said else (),
        failure_message=failure_message,
        at=turn.started.at,
    )


def _call_view(call: CallRecords) -> ToolCallView:
    started, finished = call.started, call.finished
    return ToolCallView(
        call_id=call.call_id,
        tool=call.tool,
        arguments=call.arguments,
        outcome=finished.outcome if finished else None,
        result=finished.result if finished else None,
        preview=finished.preview if finished else None,
        result_handle=finished.result_handle if finished else None,
        failure_message=finished.failure.message if finished and finished.failure else None,
        duration_seconds=finished.duration_seconds if finished else None,
        started_at=started.at if started else None,
        finished_at=finished.at if finished else None,
    )
