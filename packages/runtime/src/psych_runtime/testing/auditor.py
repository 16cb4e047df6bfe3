"""The one judge of a log: every rule that it breaks, by code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from psych_runtime.testing.auditing import calls, effects, evidence, folds, order
from psych_runtime.testing.auditing.judged import Fault, JudgedLog
from psych_runtime.testing.ledger import Invocation
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import ClosedCodec, Codec, Entry
from psych_runtime_core.spec.agent import AgentSpec

FACTS_ALONE = ClosedCodec()


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a log breaks, and the first record that shows it."""

    code: str
    seq: int
    message: str


def audit(
    entries: Iterable[Entry],
    *,
    effects: Iterable[Invocation] = (),
    header: RunHeader | None = None,
    spec: AgentSpec | None = None,
    codec: Codec = FACTS_ALONE,
) -> tuple[Finding, ...]:
    """What is wrong with the log of one Run, in the order of `CODES`; nothing of a sound one.

    `effects` are what its tools really did, of other Runs too; without any, those rules are left out, as is
    each that needs a `header` or a `spec` which is not given. A log that breaks a rule is not folded: what
    follows from its folds is asked of sound ones alone. Of what `codec` does not open, and of what is erased,
    the facts are judged; what it refuses to open breaks `chain`. It is prepared by whoever gives it.
    Raises `RecordTooNew`.
    """
    log = JudgedLog.of(entries, effects, header, spec, codec)
    findings = tuple(_found(log, CODES))
    return findings or tuple(_found(log, FOLDED))


Check = Callable[[JudgedLog], Iterator[Fault]]

CODES: Mapping[str, Check] = {
    "gapless": order.gapless,
    "admitted_first": order.admitted_first,
    "settled_once_last": order.settled_once_last,
    "epochs_rise": order.epochs_rise,
    "chain": order.chain,
    "one_tenant": order.one_tenant,
    "call_answered_once": calls.call_answered_once,
    "answers_in_call_order": calls.answers_in_call_order,
    "history_sendable": calls.history_sendable,
    "approved_is_what_ran": evidence.approved_is_what_ran,
    "digests_true": evidence.digests_true,
    "abort_beats": evidence.abort_beats,
    "unsafe_once": effects.unsafe_once,
    "ok_means_done": effects.ok_means_done,
    "done_means_recorded": effects.done_means_recorded,
}

FOLDED: Mapping[str, Check] = {
    "prefix_equal": folds.prefix_equal,
    "header_agrees": folds.header_agrees,
    "views_build": folds.views_build,
}


def _found(log: JudgedLog, checks: Mapping[str, Check]) -> Iterator[Finding]:
    for code, check in checks.items():
        yield from (Finding(code, fault.seq, fault.message) for fault in check(log))
