"""The judge: a sound log has no finding, and each rule has a log that breaks it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from packages.core.tests.codecs import SealingCodec
from psych_runtime import AgentSpec, Entry, Limits, ModelRef, RunHeader, RunId, Scope, ToolCallId
from psych_runtime.testing import Invocation, LogBuilder, audit
from psych_runtime.testing.auditing import folds
from psych_runtime.testing.auditor import CODES, FOLDED
from psych_runtime_core.ids import content_digest
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.ports.header import scrubbed
from psych_runtime_core.records.facts import Sent
from psych_runtime_core.views.projection import RunProjection

SPEC = AgentSpec(name="clerk", model=ModelRef(model="m"), limits=Limits())
ACT = {"name": "it"}


def whole() -> LogBuilder:
    """A Run with a plain call, an approved and edited one, a steer, a crash and an answer."""
    log = LogBuilder().admitted().attempt()
    log.call("act", ACT, "done")
    log.enqueued().turn().consumed().model_started().model_finished(
        calls=[("wipe", ACT), ("act", {"name": "b"})]
    )
    log.suspended(0).tool_started(1).tool_finished(1, "done too").resumed(0).tool_started(0)
    log.attempt().tool_finished(0, outcome="unknown")
    return log.turn().model_started().model_finished("Well.").settled()


def invoked(log: LogBuilder, call: int, turn: int = 1, **fields: Any) -> Invocation:
    """What a ledger would hold of a call."""
    finished = [each for each in log.records if each.type == "model_call_finished" and each.calls]
    said = finished[turn - 1].tool_calls[call]
    done = Invocation(
        run_id=log.run_id,
        call_id=said.id,
        tool=said.name,
        run_number=1,
        arguments_digest=content_digest(b"", {"name": "it"}),
        began_at="2026-01-01T00:00:00+00:00",
        finished_at="2026-01-01T00:00:01+00:00",
        result_digest=content_digest(b"", "done"),
    )
    return replace(done, **fields)


@dataclass(frozen=True)
class Case:
    """A log, and what is known beside it."""

    entries: Iterable[Entry]
    effects: tuple[Invocation, ...] = ()
    header: RunHeader | None = None
    spec: AgentSpec | None = field(default=None)

    @property
    def codes(self) -> set[str]:
        found = audit(self.entries, effects=self.effects, header=self.header, spec=self.spec)
        return {finding.code for finding in found}


def broken(make: Callable[[LogBuilder], LogBuilder]) -> Callable[[], Case]:
    return lambda: Case(make(whole()).entries())


def answered(log: LogBuilder, seq: int) -> int:
    return next(record.seq for record in log.records[seq:] if record.type == "tool_call_finished")


def first(log: LogBuilder, kind: str) -> int:
    return next(record.seq for record in log.records if record.type == kind)


def swapped() -> Case:
    """An answer whose calls are announced in another order than their numbers say."""
    log = whole()
    seq = [record.seq for record in log.records if record.type == "model_call_finished"][1]
    record: Any = log.records[seq - 1]
    parts = tuple(reversed(record.message.parts))
    return Case(
        log.edit(
            seq,
            message=record.message.model_copy(update={"parts": parts}),
            calls=tuple(reversed(record.calls)),
        ).entries()
    )


def lying_prompt() -> Case:
    log = LogBuilder().admitted().attempt().turn().model_started()
    sent = Sent(prompt_hash="0" * 64, tools_hash="1" * 64, system_prompt="Be good.")
    return Case(log.model_finished("Well.", sent=sent).settled().entries())


def announced(tool: str = "act") -> LogBuilder:
    """A Run whose model has called a tool that has not begun."""
    return LogBuilder().admitted().attempt().turn().model_started().model_finished(calls=[(tool, ACT)])


def unanswered() -> Case:
    log = announced()
    return Case(log.tool_started().unchecked().turn().model_started(turn=2, try_number=1).entries())


def wordless() -> Case:
    """A Run without an input, of an agent without instructions."""
    log = LogBuilder().admitted({}).attempt().turn().model_started()
    return Case(log.entries(), spec=SPEC)


def approved_otherwise() -> Case:
    log = announced("wipe")
    log.suspended().resumed(approved=False).unchecked().tool_started(decision="approved").tool_finished(
        0, "x"
    )
    return Case(log.entries())


def begun_after_an_abort() -> Case:
    log = LogBuilder().admitted().attempt().abort().unchecked().turn()
    return Case(log.entries())


def ran_twice() -> Case:
    log = whole()
    return Case(log.entries(), effects=(*done(log), invoked(log, 0)))


def never_ran() -> Case:
    log = whole()
    return Case(log.entries(), effects=done(log)[1:])


def ran_unrecorded() -> Case:
    log = announced()
    log.refused().turn().model_started().model_finished("Well.").settled()
    return Case(log.entries(), effects=(invoked(log, 0),))


def done(log: LogBuilder) -> tuple[Invocation, ...]:
    """What the tools of `whole` did."""
    other: Json = {"name": "b"}
    return (
        invoked(log, 0),
        invoked(
            log,
            1,
            2,
            arguments_digest=content_digest(b"", other),
            result_digest=content_digest(b"", "done too"),
        ),
        invoked(log, 0, 2, finished_at=None, result_digest=None),
    )


def out_of_turn() -> Case:
    log = LogBuilder().admitted().attempt().unchecked().turn(turn=7)
    return Case(log.entries())


def wrong_header() -> Case:
    log = whole()
    return Case(log.entries(), header=log.header(pending=3))


ALONE: dict[str, Callable[[], Case]] = {
    "gapless": lambda: Case(LogBuilder().admitted().attempt().unchecked().turn(seq=4).entries()),
    "admitted_first": lambda: Case(LogBuilder().admitted().attempt().unchecked().admitted().entries()),
    "settled_once_last": lambda: Case(whole().unchecked().enqueued().entries()),
    "epochs_rise": broken(lambda log: log.edit(first(log, "turn_started"), epoch=9)),
    "chain": broken(lambda log: log.forge(first(log, "turn_started"))),
    "one_tenant": broken(lambda log: log.edit(first(log, "turn_started"), tenant="rival")),
    "call_answered_once": unanswered,
    "answers_in_call_order": swapped,
    "history_sendable": wordless,
    "approved_is_what_ran": approved_otherwise,
    "digests_true": lying_prompt,
    "abort_beats": begun_after_an_abort,
    "unsafe_once": ran_twice,
    "ok_means_done": never_ran,
    "done_means_recorded": ran_unrecorded,
    "prefix_equal": out_of_turn,
    "header_agrees": wrong_header,
}


@pytest.mark.parametrize(("code", "case"), ALONE.items(), ids=ALONE.keys())
def test_a_rule_can_be_broken_alone(code: str, case: Callable[[], Case]) -> None:
    assert case().codes == {code}


def test_a_view_that_cannot_be_built_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(view: RunProjection) -> object:
        raise LookupError(view.run_id)

    monkeypatch.setattr(folds, "VIEWS", {"status": raises})
    found = audit(whole().entries())
    assert {finding.code for finding in found} == {"views_build"}
    assert "LookupError" in found[0].message


def test_every_rule_is_tried() -> None:
    assert {*ALONE, "views_build"} == {*CODES, *FOLDED}


def test_a_sound_log_has_no_finding() -> None:
    log = whole()
    assert audit(log.entries(), effects=done(log), header=log.header(), spec=SPEC) == ()


@pytest.mark.parametrize("length", range(1, 31))
def test_every_prefix_of_a_sound_log_is_sound(length: int) -> None:
    log = whole().truncate(length)
    assert audit(log.entries(), header=log.header(), spec=SPEC) == ()


def test_of_a_sealed_log_the_facts_are_judged() -> None:
    log, codec = whole(), SealingCodec()
    header = log.header(head=log.entries(codec)[-1].head)
    assert audit(log.entries(codec), effects=done(log), header=header, spec=SPEC) == ()
    broken_log = log.edit(first(log, "turn_started"), epoch=9)
    assert {finding.code for finding in audit(broken_log.entries(codec))} == {"epochs_rise"}


def test_of_an_erased_run_what_is_left_is_judged() -> None:
    log = LogBuilder(scope=Scope(tenant="acme", principal="ada")).admitted().attempt().abort().settled()
    assert audit(log.entries(), header=scrubbed(log.header())) == ()
    other = scrubbed(log.header(scope=Scope(tenant="rival")))
    assert {finding.code for finding in audit(log.entries(), header=other)} == {"header_agrees"}


def test_a_log_without_entries_has_no_finding() -> None:
    assert audit(()) == ()


def test_what_the_tools_of_other_runs_did_is_not_judged() -> None:
    log = whole()
    foreign = invoked(log, 0, run_id=RunId("run_other"), call_id=ToolCallId("call_other"))
    assert audit(log.entries(), effects=(*done(log), foreign)) == ()


def misannounced() -> Case:
    log = whole()
    record: Any = log.records[first(log, "model_call_finished") - 1]
    calls = tuple(call.model_copy(update={"arguments_digest": "f" * 64}) for call in record.calls)
    return Case(log.edit(record.seq, calls=calls).entries())


FURTHER: dict[str, tuple[str, Callable[[], Case]]] = {
    "a result twice": (
        "call_answered_once",
        lambda: Case(
            LogBuilder().admitted().attempt().call("act", ACT).unchecked().tool_finished(0, 1).entries()
        ),
    ),
    "settled over an open call": (
        "call_answered_once",
        lambda: Case(announced().unchecked().settled("aborted").entries()),
    ),
    "begun again, unsafe": (
        "unsafe_once",
        lambda: Case(announced().tool_started().attempt().unchecked().tool_started().entries()),
    ),
    "completed after an abort": (
        "abort_beats",
        lambda: Case(
            LogBuilder()
            .admitted()
            .attempt()
            .turn()
            .model_started()
            .model_finished("Well.")
            .abort()
            .unchecked()
            .settled("completed")
            .entries()
        ),
    ),
    "a result digest": (
        "digests_true",
        broken(lambda log: log.edit(answered(log, 1), answer_digest="f" * 64)),
    ),
    "an announced digest": ("digests_true", misannounced),
    "a dropped record": ("gapless", broken(lambda log: log.drop(5))),
    "a repeated record": ("gapless", broken(lambda log: log.repeat(5))),
    "an instant of the end": (
        "header_agrees",
        lambda: Case(whole().entries(), header=whole().header(settled_at=whole().start + timedelta(days=1))),
    ),
}


@pytest.mark.parametrize(("code", "case"), FURTHER.values(), ids=FURTHER.keys())
def test_a_breach_is_found(code: str, case: Callable[[], Case]) -> None:
    assert code in case().codes
