"""A log as a script: each model call gets again what it got in its lane and turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import cast

from psych_runtime.testing.fake_script import ReceivedCall, ScriptEntry
from psych_runtime.testing.logged_calls import LoggedCall, Place, calls_of
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.model import ModelCapabilities, ModelRequest
from psych_runtime_core.records import Record
from psych_runtime_core.records.base import RecordModel


class LogMismatch(AssertionError):
    """A call asks for something else than the log has in its place; None is nothing."""

    def __init__(self, place: str, what: str, recorded: str | None, asked: str | None) -> None:
        self.place, self.what, self.recorded, self.asked = place, what, recorded, asked
        here, there = ("nothing" if text is None else repr(text) for text in (asked, recorded))
        super().__init__(f"{place}: {what} is {here}, in the log {there}; replay with what it was made with")


class LogScript:
    """Plays the calls of a log, and those of `children` to their Runs."""

    def __init__(
        self,
        records: Sequence[Record],
        children: Mapping[str, Sequence[Record]],
        *,
        strict: bool,
        paced: bool,
    ) -> None:
        self._strict = strict
        _check("records", records)
        for name, log in children.items():
            _check(name, log)
        self._run_id = records[0].run_id
        self._logs = {self._run_id: calls_of(records, paced=paced)}
        self._logs |= {RunId(run_id): calls_of(log, paced=paced) for run_id, log in children.items()}
        self._played: set[tuple[RunId, Place]] = set()
        self._faults: list[str] = []

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models that were called."""
        return tuple(dict.fromkeys(call.model for call in self._calls()))

    def provider_of(self, model: str) -> str:
        """Who answered for `model`, or for the first that answered at all."""
        said = {call.model: call.provider for call in reversed(list(self._calls())) if call.provider}
        return said.get(model) or next(reversed(said.values()), "fake")

    def capabilities(self, model: str, unknown: ModelCapabilities) -> ModelCapabilities:
        """Such as lead to the way in which `model` was asked for its answer; `unknown` leads to any other."""
        for call in self._calls():
            if call.model == model and call.output_mode == "tool":
                return ModelCapabilities()
            if call.model == model and call.output_mode == "prompted":
                return ModelCapabilities(tools=bool(call.tools))
        return unknown

    def take(self, call: ReceivedCall) -> ScriptEntry:
        """What `call` gets. Raises `LogMismatch`, and remembers it."""
        context = call.context
        run_id = context.run_id if context.run_id in self._logs else self._run_id
        place = Place(context.lane, context.turn, context.failures)
        try:
            return self._found(run_id, place, call.request)
        except LogMismatch as fault:
            self._faults.append(str(fault))
            raise

    def faults(self) -> Iterator[str]:
        """The calls that were refused, and those of the log that nobody made."""
        yield from self._faults
        for run_id, log in self._logs.items():
            for place, call in log.items():
                if call.heard and (run_id, place) not in self._played:
                    yield f"the log of {run_id}: not played: {place}"

    def _calls(self) -> Iterator[LoggedCall]:
        for log in self._logs.values():
            yield from log.values()

    def _found(self, run_id: RunId, place: Place, request: ModelRequest) -> ScriptEntry:
        where = f"the log of {run_id}: {place}"
        logged = self._logs[run_id].get(place)
        if logged is None:
            raise LogMismatch(where, "the model", None, request.model)
        if self._strict:
            _compare(where, logged, request)
        self._played.add((run_id, place))
        return logged.entry


def _check(name: str, log: object) -> None:
    """Raise `TypeError` and `ValueError` for what is no log."""
    cure = "give the records of a Run, such as `await records(store, run_id)` gives"
    if not isinstance(log, list | tuple):
        raise TypeError(f"{name} is a {type(log).__name__}; {cure}")
    if not log:
        raise ValueError(f"{name} is empty; {cure}")
    for each in cast("Sequence[object]", log):
        if not isinstance(each, RecordModel):
            raise TypeError(f"{name} holds a {type(each).__name__}; {cure}")


def _compare(where: str, logged: LoggedCall, request: ModelRequest) -> None:
    if request.model != logged.model:
        raise LogMismatch(where, "the model", logged.model, request.model)
    if logged.tools is None:
        return
    asked = (tool.name for tool in request.tools)
    for number, (old, new) in enumerate(zip_longest(logged.tools, asked), 1):
        if old != new:
            raise LogMismatch(where, f"tool {number}", old, new)
