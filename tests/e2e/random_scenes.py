"""Scenarios drawn by chance: any tools, any mistakes of a model, people who edit, delay, steer and stop."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from psych_runtime import (
    AgentSpec,
    AllowAll,
    Answer,
    Decision,
    Limits,
    ModelRef,
    QueueKind,
    Scope,
    ToolContext,
    ToolRegistry,
)
from psych_runtime.testing import Act, FakeModel, Later, Scenario, ToolCallScript, say, stop
from psych_runtime_core.jsonvalue import JsonObject
from psych_runtime_core.messages import ToolDefinition
from psych_runtime_core.spec.policies import SuspensionPolicy
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.state.run import RunStateView
from psych_runtime_core.state.waits import Wait
from tests.e2e.scenes import at_turn

NAMES = ("read", "write", "wipe", "firm", "probed", "alone", "single")
RAW = ("{", "[]", '{"name": 1}', "{}")


def scene(seed: int) -> Scenario:
    """The scenario of this number."""
    drawn = Random(seed)
    expires = drawn.choice([100.0, 604_800.0])
    return Scenario(
        spec=AgentSpec(
            name="anybody",
            instructions="Do what you can.",
            model=ModelRef(model="m", fallbacks=drawn.choice([(), ("n",)])),
            tools=tuple(CodeTool(name=name) for name in NAMES),
            limits=Limits(
                max_turns=drawn.choice([3, 32]),
                max_steps=drawn.choice([4, 48]),
                deadline_seconds=drawn.choice([20, 900]),
            ),
            suspension=SuspensionPolicy(approval_expires_seconds=expires),
        ),
        tools=_tools(drawn),
        model=_model(drawn),
        input="Go on.",
        people=_people(seed, silent=expires == 100.0),
        acts=tuple(_acts(drawn)),
        runtime={"policy": Hesitant()} if drawn.random() < 0.3 else {},
    )


class Hesitant(AllowAll):
    """Takes a moment over each call, and never allows one tool."""

    async def allow_tool(self, scope: Scope, tool: ToolDefinition, arguments: JsonObject) -> Decision:
        await asyncio.sleep(0.3)
        return Decision.deny("Not this one.") if tool.name == "alone" else Decision.allow()


def _tools(drawn: Random) -> Callable[[], ToolRegistry]:
    toolbox, registry = _Toolbox(drawn), ToolRegistry()
    for name, flags in toolbox.flags().items():
        registry.register(getattr(toolbox, name), **flags)
    return lambda: registry


class _Toolbox:
    """Tools of every class, each of which takes its time, and fails over some names."""

    def __init__(self, drawn: Random) -> None:
        self._seconds = {name: drawn.choice([0, 0, 0.001, 0.05, 1, 7]) for name in NAMES}
        self._found = drawn.choice(["done", "not_done", "unknown"])
        self._failing = drawn.choice("abcdef")

    def flags(self) -> dict[str, dict[str, Any]]:
        return {
            "read": {"annotations": "read-only"},
            "write": {},
            "wipe": {"annotations": "destructive"},
            "firm": {"interruptible": False, "timeout_seconds": 3},
            "probed": {"probe": self.probe, "timeout_seconds": 2},
            "alone": {"parallel": False},
            "single": {"max_concurrency": 1, "safe_to_retry": True},
        }

    async def read(self, name: str) -> str:
        """Read."""
        return await self._work("read", name)

    async def write(self, name: str) -> str:
        """Write."""
        return await self._work("write", name)

    async def wipe(self, name: str, times: int = 1) -> str:
        """Remove."""
        return await self._work("wipe", name * times)

    async def firm(self, name: str) -> str:
        """Do what may not be cut."""
        return await self._work("firm", name)

    async def probed(self, name: str, context: ToolContext) -> str:
        """Do what can be asked about."""
        return await self._work("probed", name)

    async def probe(self, key: str) -> str:
        """What became of it."""
        return self._found

    async def alone(self, name: str) -> str:
        """Do what runs beside nothing."""
        return await self._work("alone", name)

    async def single(self, name: str) -> str:
        """Do what runs once at a time."""
        return await self._work("single", name)

    async def _work(self, tool: str, name: str) -> str:
        await asyncio.sleep(self._seconds[tool])
        if name.startswith(self._failing):
            raise ValueError(f"no {name}")
        return f"{tool} {name}"


def _model(drawn: Random) -> Callable[[], FakeModel]:
    turns = [
        [_call(drawn, turn) for _ in range(drawn.choice([1, 1, 2, 3, 5]))]
        for turn in range(drawn.randint(1, 7))
    ]
    breaks = [drawn.random() < 0.15 for _ in turns]
    delay = drawn.choice([0, 0, 0.01, 2])

    def model() -> FakeModel:
        scripted = FakeModel()
        for calls, broken in zip(turns, breaks, strict=True):
            if broken:
                scripted.raises_transient()
            scripted.turn("Well.", tool_calls=calls, delay=delay)
        return scripted.turn("Done.").repeat()

    return model


def _call(drawn: Random, turn: int) -> ToolCallScript:
    tool = drawn.choice([*NAMES, "nothing"])
    if drawn.random() < 0.08:
        return ToolCallScript(tool, raw_arguments=drawn.choice(RAW))
    return ToolCallScript(tool, {"name": f"{drawn.choice('abcdef')}{turn}"})


def _people(seed: int, *, silent: bool) -> Callable[[Wait], Answer | Later | None]:
    """People who decide by what they are shown."""

    def decide(wait: Wait) -> Answer | Later | None:
        mood = Random(f"{seed} {wait.arguments}").randrange(8)
        if mood == 0 and silent:
            return None
        edited = Answer(approved=True, arguments={"name": "edited", "times": 2})
        moods = (
            Answer(approved=False),
            edited,
            Later(Answer(approved=True), 50),
            Later(Answer(approved=True, remember="tool"), 1),
        )
        return moods[mood] if mood < len(moods) else Answer(approved=True)

    return decide


def _acts(drawn: Random) -> list[Act]:
    said = [
        say(f"message {number}", at_turn(drawn.randint(0, 5)), drawn.choice(list(QueueKind)))
        for number in range(drawn.choice([0, 1, 3]))
    ]
    return [*said, stop(_at_record(drawn.randint(1, 60)))] if drawn.random() < 0.2 else said


def _at_record(number: int) -> Callable[[RunStateView], bool]:
    return lambda state: state.head_seq >= number
