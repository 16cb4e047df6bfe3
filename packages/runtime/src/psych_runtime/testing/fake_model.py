"""A model that answers from a script, and breaks as real ones do when the script says so."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, Self

from psych_runtime.testing.fake_log import LogMismatch, LogScript
from psych_runtime.testing.fake_script import FakeModelScriptExhausted, ReceivedCall, Script, ScriptEntry
from psych_runtime.testing.fake_turn import FakeTurn, ToolCallScript
from psych_runtime.testing.silence import silence
from psych_runtime_core.clock import Clock, SystemClock
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.model import (
    ModelCallContext,
    ModelCapabilities,
    ModelRequest,
    StreamDone,
    StreamEvent,
)
from psych_runtime_core.records import Record

__all__ = [
    "FakeModel",
    "FakeModelScriptExhausted",
    "FakeTurn",
    "LogMismatch",
    "ReceivedCall",
    "Script",
    "ToolCallScript",
]

CAPABLE = ModelCapabilities(structured_output="schema", structured_with_tools=True)


class FakeModel(Script):
    """A `ModelClient` that plays scripts; it is itself the one of all calls that no `when` takes.

    `play` is `once`, one script across Runs in order of arrival, or `per_lane`: each lane of each Run plays
    it from the start, or, where another process played the turns before, on from there, as far as turn and
    failures of its first call tell. A call that is repeated with its run, lane, turn and failures, as after
    a crash, gets the entry it got before. Delays sleep on `clock`.
    """

    provider = "fake"

    def __init__(
        self,
        *,
        known_models: Sequence[str] = ("fake-standard", "fake-reasoning"),
        capabilities: ModelCapabilities = CAPABLE,
        play: Literal["once", "per_lane"] = "once",
        clock: Clock | None = None,
    ) -> None:
        if play not in {"once", "per_lane"}:
            raise ValueError(f"play is {play!r}; give 'once' or 'per_lane'")
        super().__init__("the default script", per_lane=play == "per_lane")
        self._known_models, self._capabilities = tuple(known_models), capabilities
        self._clock = clock or SystemClock()
        self._scripts: dict[_Route, Script] = {_Route(): self}
        self._given: dict[tuple[RunId, str, int, int], ScriptEntry] = {}
        self._seen: set[tuple[RunId, str]] = set()
        self._log: LogScript | None = None

    @classmethod
    def from_log(
        cls,
        records: Sequence[Record],
        *,
        children: Mapping[str, Sequence[Record]] | None = None,
        strict: bool = True,
        clock: Clock | None = None,
    ) -> Self:
        """A model that gives each call of a Run what it got in its lane and turn: parts, figures, errors.

        `children` are the logs of further Runs by their ids; every other Run plays `records`. `strict`
        raises `LogMismatch` for the first model or tool that differs by its name; prompts are not compared.
        On a `clock` each call takes the time that it took, else none; the pause before another try is the
        engine's, and is made again. Raises `TypeError` and `ValueError` for what is no log, and for erased
        calls.
        """
        log = LogScript(records, children or {}, strict=strict, paced=clock is not None)
        model = cls(known_models=log.models, clock=clock)
        model._log, model.provider = log, log.provider_of("")
        return model

    def when(
        self,
        *,
        agent: str | None = None,
        model: str | None = None,
        lane: str | None = None,
        tenant: str | None = None,
    ) -> Script:
        """The script of calls in which all given fields are equal. Most fields win, then the first made."""
        route = _Route(agent, model, lane, tenant)
        if not route.given:
            raise ValueError("when() needs a field; the model itself is the script of all other calls")
        return self._scripts.setdefault(route, Script(f"the script of {route}", per_lane=self._per_lane))

    def agent(self, name: str) -> Script:
        """`when(agent=name)`."""
        return self.when(agent=name)

    def provider_of(self, model: str) -> str:
        """Who answers for `model`: in a log it may be one of several."""
        return self._log.provider_of(model) if self._log else self.provider

    def capabilities(self, model: str) -> ModelCapabilities:
        return self._log.capabilities(model, self._capabilities) if self._log else self._capabilities

    async def known_models(self, context: ModelCallContext) -> Sequence[str]:
        del context
        return self._known_models

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        call = ReceivedCall(request, context)
        entry = self._entry(call)
        reply = await entry.reply(call)
        await silence(self._clock, reply.delay, request.idle_timeout_seconds)
        for event in reply.events():
            if isinstance(event, StreamDone) and reply.rest:
                await self._clock.sleep(reply.rest)
            if entry.error is not None and isinstance(event, StreamDone):
                raise entry.error()
            yield event

    def pass_over(self, request: ModelRequest, context: ModelCallContext) -> None:
        """Count a call that another process made of this script: the next one gets the next entry."""
        self._entry(ReceivedCall(request, context))

    def _entry(self, call: ReceivedCall) -> ScriptEntry:
        fitting = (route for route in self._scripts if route.fits(call))
        script = self._scripts[max(fitting, key=lambda route: len(route.given))]
        for receiver in {self, script}:
            receiver._received.append(call)
        context = call.context
        if (context.run_id, context.lane) not in self._seen:
            self._seen.add((context.run_id, context.lane))
            script._begin(call)
        place = (context.run_id, context.lane, context.turn, context.failures)
        if place not in self._given:
            logged = self._log if script is self else None
            self._given[place] = logged.take(call) if logged else script._take(call)
        return self._given[place]

    def _add(self, entry: ScriptEntry, times: int = 1) -> Self:
        if self._log is not None:
            raise ValueError("this model plays a log; script other calls of it with when()")
        return super()._add(entry, times)

    def _faults(self) -> Iterator[str]:
        yield from self._log.faults() if self._log else super()._faults()
        for script in self._scripts.values():
            if script is not self:
                yield from script._faults()


@dataclass(frozen=True, slots=True)
class _Route:
    agent: str | None = None
    model: str | None = None
    lane: str | None = None
    tenant: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """The fields by which this route chooses."""
        return {
            field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None
        }

    def fits(self, call: ReceivedCall) -> bool:
        context = call.context
        seen = _Route(context.agent, call.request.model, context.lane, context.scope.tenant)
        return self.given.items() <= seen.given.items()

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.given.items())
