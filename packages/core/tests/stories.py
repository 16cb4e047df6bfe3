"""Logs for the tests of views and prompts: what one moment of a Run writes, with times and figures to see."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from packages.core.tests.codecs import SealingCodec
from psych_runtime.testing.log_builder import SALT, LogBuilder
from psych_runtime_core.ids import RunId, ToolCallId, WaitId, call_digest, derive_wait_id
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.records import Record, decode
from psych_runtime_core.records.facts import OfferedTool, Sent, ToolFailure
from psych_runtime_core.scope import Scope
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.model import ModelRef
from psych_runtime_core.usage import Cost, Usage
from psych_runtime_core.version import Version, checked
from psych_runtime_core.views.projection import RunProjection, project

RUN = RunId("run_1")
SCOPE = Scope(tenant="acme", principal="ann")
T0 = datetime(2026, 5, 4, 12, tzinfo=UTC)
PROMPT = "Be kind."
DEADLINE = T0 + timedelta(seconds=900)
VERSION: Version = checked(AgentSpec(name="clerk", model=ModelRef(model="gpt"), instructions=PROMPT))
USAGE = Usage(input=10, output=5)
PRICE = Cost(amount="0.02", currency="USD", model="gpt")  # type: ignore[arg-type]  # pydantic reads the text


def digest(letter: str) -> str:
    """A digest that is told from others at a glance."""
    return letter * 64


def digest_of(arguments: dict[str, Json]) -> str:
    """The digest of a call of `pay`."""
    return call_digest(SALT, "pay", arguments)


def at(seconds: float) -> datetime:
    """`seconds` after the admission."""
    return T0 + timedelta(seconds=seconds)


class Story(LogBuilder):
    """A log whose time stands still until it `wait`s."""

    def __init__(self) -> None:
        super().__init__(RUN, scope=SCOPE, version_hash=VERSION.hash, start=T0, step_seconds=0)

    @property
    def view(self) -> RunProjection:
        return view_of(self.records)

    def wait(self, seconds: float) -> Self:
        self._now += timedelta(seconds=seconds)
        return self

    def sends(self, entry_id: str, text: str, queue: str = "steer") -> Self:
        return self.enqueued(text, queue, entry_id=entry_id, sent_by="ann")

    def asks(self, *reads: str) -> Self:
        """A turn opens, reads these entries and calls the model."""
        self.turn()
        for entry_id in reads:
            self.consumed(entry_id)
        return self.model_started()

    def says(
        self, text: str = "", *calls: tuple[str, dict[str, Json] | str], prompt: str = PROMPT, **fields: Any
    ) -> Self:
        """The model answers `prompt`, at a price; a call is a tool and its arguments, or any text."""
        return self.model_finished(
            text, calls, **{"usage": USAGE, "cost": PRICE, "sent": self._sent(prompt), **fields}
        )

    def runs(self, call: int = 0, result: Json = None) -> Self:
        """A call begins and ends well."""
        return self.tool_started(call).tool_finished(call, result)

    def call_of(self, call: int = 0) -> ToolCallId:
        """The id of a call of the open turn."""
        return self._call_id(call)

    def wait_of(self, call: int = 0) -> WaitId:
        """The id of the first Wait of a call of the open turn."""
        return derive_wait_id(RUN, self._call_id(call), 0)

    def _sent(self, prompt: str) -> Sent:
        """What is written of it: each prompt and the one list of tools stand in the log once."""
        prompt_hash, tools_hash = digest("b" if prompt == PROMPT else "f"), digest("c")
        tools = (OfferedTool(name="pay", tool_class=ToolClass.DESTRUCTIVE, digest=digest("d")),)
        return Sent(
            prompt_hash=prompt_hash,
            tools_hash=tools_hash,
            system_prompt=None if prompt_hash in self._state.prompts else prompt,
            tools=None if tools_hash in self._state.toolsets else tools,
        )


def view_of(records: Sequence[Record]) -> RunProjection:
    return project(records, run_id=RUN)


def because(kind: str) -> ToolFailure:
    return ToolFailure(kind=kind, message=f"because of {kind}")


def begun() -> Story:
    """A Run that a Worker has begun to drive."""
    return Story().admitted().wait(1).attempt()


def rich() -> Story:
    """A settled Run with a bit of everything."""
    log = begun().asks().wait(1).model_failed().model_started().wait(2)
    log.attempt(reclaimed_expired_lease=True).model_started().wait(1)
    log.says("I will pay.", ("pay", {"to": "x"}), ("pay", {"to": "y"}), ("pay", "not json"))
    log.refused(2, "malformed_arguments").suspended(0).suspended(1)
    log.wait(30).sends("qe_1", "hurry").resumed(0, arguments={"to": "z"}, resumed_by="boss").wait(30)
    log.tool_started(0).wait(2).tool_finished(0, {"paid": True}, duration_seconds=2)
    log.resumed(1, approved=False, resumed_by="boss").wait(1).refused(1, "denied")
    log.asks("qe_1").wait(1).says("Almost.", cost=None, prompt="Be quick.").sends("qe_2", "and?", "follow_up")
    log.asks("qe_2").wait(1).says("", ("pay", {}), usage=None).tool_started(safe_to_retry=True).wait(5)
    log.attempt(reclaimed_expired_lease=True).tool_started(safe_to_retry=True).wait(1)
    log.tool_finished(outcome="error", duration_seconds=1)
    log.asks().wait(1).says("", ("pay", {})).refused(0, "failure_streak")
    return log.asks().wait(1).says("Done.").settled()


def erased(log: Story) -> list[Record]:
    """`log` as it reads once the keys of its content are destroyed."""
    codec = SealingCodec()
    entries = log.entries(codec)
    codec.destroy(SCOPE.tenant)
    return [decode(entry, run_id=RUN, scope=SCOPE, codec=codec) for entry in entries]
