"""A Run as it should go: its agent, its model, and the people around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psych_runtime.api.answers import Answer
from psych_runtime.api.arguments import Spoken
from psych_runtime.tools.registry import ToolRegistry
from psych_runtime_core.ports.model import ModelClient
from psych_runtime_core.records.facts import QueueKind
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.state.waits import Wait

When = Callable[[RunStateView], bool]


@dataclass(frozen=True, slots=True)
class Later:
    """An answer that a person gives so many seconds after the question."""

    answer: Answer
    seconds: float


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody does once, as soon as `when` holds: send `text`, or stop the Run where that is None."""

    when: When
    text: str | None = None
    queue: QueueKind = QueueKind.STEER


def say(text: str, when: When, queue: QueueKind = QueueKind.STEER) -> Act:
    """Send a message as soon as `when` holds of the Run's state."""
    return Act(when, text, queue)


def stop(when: When) -> Act:
    """Stop the Run as soon as `when` holds of its state."""
    return Act(when)


def approve_all(wait: Wait) -> Answer:
    """Yes, to whatever is asked."""
    del wait
    return Answer(approved=True)


def deny_all(wait: Wait) -> Answer:
    """No, to whatever is asked."""
    del wait
    return Answer(approved=False)


People = Callable[[Wait], Answer | Later | None]


@dataclass(frozen=True)
class Scenario:
    """What is run, again and again, each time with a fresh model and fresh tools.

    `tools` are functions, or make a registry. `people` answer each Wait, at once, `Later` or not at all.
    `runtime` are further arguments of `Runtime`. So many `runs` go side by side; `model` serves them all.
    """

    spec: AgentSpec
    tools: Sequence[Callable[..., object]] | Callable[[], ToolRegistry]
    model: Callable[[], ModelClient]
    input: Spoken | None = None
    people: People = approve_all
    acts: tuple[Act, ...] = ()
    runtime: Mapping[str, Any] = field(default_factory=dict[str, Any])
    runs: int = 1

    def registry(self) -> ToolRegistry:
        """The tools, registered anew."""
        if callable(self.tools):
            return self.tools()
        registry = ToolRegistry()
        for tool in self.tools:
            registry.register(tool)
        return registry


class ScenarioNotDeterministic(AssertionError):
    """Two undisturbed playings differ, so nothing can be said of a disturbed one."""

    def __init__(self, seq: int, first: str, second: str) -> None:
        self.seq, self.first, self.second = seq, first, second
        super().__init__(
            f"two undisturbed playings differ, first at record {seq}: {first}, and then {second};"
            " let tools, people and the model depend on what they are given alone"
        )


class ScenarioStuck(AssertionError):
    """A Run has not settled after a day; `status` says where it stands."""

    def __init__(self, run_id: str, status: str) -> None:
        self.run_id, self.status = run_id, status
        super().__init__(f"{run_id} has not settled after a day: {status}")
