"""How much an agent may do before it is stopped."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.spec.base import SpecModel
from psych_runtime_core.spec.issues import IssueCode


class Limits(SpecModel):
    """Bounds of one lane; the deadline is the Run's.

    - `max_steps`: tool calls begun. `max_turns`: model calls with their tool calls.
    - `max_tool_calls_per_turn` run side by side; calls past it are answered `refused`, not run.
    - `deadline_seconds` does not count time in which every lane waits.
    - `transient_retry_budget`: model calls tried again.
    - `output_retries`: answers sent back for not fitting `output_schema`.
    - `failure_streak_*`: failures of one tool in a row before it is withheld for one turn / the lane fails.
    - `repeat_call_*`: same tool, arguments and result before refusal / the lane fails.
    - `large_result_bytes`: JSON of a result; of a larger one the model is told the beginning and a handle.
    - `stream_idle_seconds`: silence of a model stream before it is given up; 0 waits for ever.
    """

    max_steps: int = Field(default=48, ge=1, le=10_000)
    max_turns: int = Field(default=32, ge=1, le=10_000)
    max_tool_calls_per_turn: int = Field(default=16, ge=1, le=256)
    deadline_seconds: float = Field(default=900.0, gt=0, le=86_400)
    transient_retry_budget: int = Field(default=8, ge=0, le=100)
    output_retries: int = Field(default=2, ge=0, le=10)
    failure_streak_threshold: int = Field(default=3, ge=1, le=100)
    failure_streak_hard_stop: int = Field(default=6, ge=1, le=200)
    repeat_call_threshold: int = Field(default=3, ge=1, le=100)
    repeat_call_hard_stop: int = Field(default=6, ge=1, le=200)
    large_result_bytes: int = Field(default=32_768, ge=1, le=16_777_216)
    stream_idle_seconds: float = Field(default=300.0, ge=0, le=3_600)

    @model_validator(mode="after")
    def _stop_after_threshold(self) -> Self:
        pairs = (
            ("failure_streak_hard_stop", self.failure_streak_hard_stop, self.failure_streak_threshold),
            ("repeat_call_hard_stop", self.repeat_call_hard_stop, self.repeat_call_threshold),
        )
        below = [
            Refusal(
                IssueCode.OUT_OF_BOUNDS, f"must not be below its threshold of {threshold}", stop, (field,)
            )
            for field, stop, threshold in pairs
            if stop < threshold
        ]
        if below:
            refuse(*below)
        return self
