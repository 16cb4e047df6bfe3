"""The parts of `psych show` around the conversation, as rows: who and what, the answer, the totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from psych_runtime.cli.output import Row
from psych_runtime_core.records.tree import instant
from psych_runtime_core.usage import Cost, Usage
from psych_runtime_core.version import Version
from psych_runtime_core.views.answer import AnswerView
from psych_runtime_core.views.report_model import RunReport, TotalsReport
from psych_runtime_core.views.status import RunStatus


def header(status: RunStatus, version: Version) -> Iterator[Row]:
    """Which Run it is, whose, and where it stands."""
    yield Row("run", status.run_id)
    yield Row("state", "", status.lifecycle)
    yield Row("agent", version.spec.name)
    yield Row("version", status.version_hash)
    yield Row("tenant", status.scope.tenant)
    if status.scope.principal:
        yield Row("principal", status.scope.principal)
    yield Row("admitted", _at(status.admitted_at))
    if status.settled_at:
        yield Row("settled", _at(status.settled_at))
    elif status.deadline_at:
        yield Row("deadline", _at(status.deadline_at))


def waits(status: RunStatus) -> Iterator[Row]:
    """What answers each call that waits for a person."""
    for wait in status.pending_approvals:
        yield Row("to answer", f"psych_runtime.approve, or deny, with {wait.wait_id}, for {wait.tool}")


def outcome(view: AnswerView, hidden: str | None) -> Iterator[Row]:
    """Where it stands now, and the answer; of a Run that ended without one, why.

    `hidden` stands for what can no longer be read; None where nothing is hidden.
    """
    yield Row("state", "", view.terminal_state or view.lifecycle)
    if view.text is not None:
        yield Row("answer", view.text or hidden or "")
    elif view.failure is not None:
        yield Row("failure", f"{view.failure.kind}: {view.failure.message or hidden or ''}")


def totals(report: RunReport, parked_since: datetime | None) -> Iterator[Row]:
    """What the Run took, spent and used. What nobody knows is unknown, never 0."""
    sums = report.totals
    yield Row("attempts", str(len(report.attempts)))
    yield Row("turns", str(sum(lane.turns for lane in report.lanes)))
    unanswered = {"failed": sums.failed_model_calls, "lost": sums.lost_model_calls}
    yield Row("models", _counts(sums.model_calls, "ok", unanswered))
    yield Row("tools", _counts(sums.tool_calls, "run", {"refused": sums.refused_calls}))
    yield Row("tokens", tokens(sums.usage))
    yield Row("cost", _cost(sums))
    yield Row("seconds", _seconds(sums, parked_since))


def tokens(usage: Usage | None) -> str:
    """Tokens in and out."""
    return "unknown" if usage is None else f"{usage.prompt} in, {usage.output} out"


def _seconds(sums: TotalsReport, parked_since: datetime | None) -> str:
    """A log does not grow while all waits, so of a Wait that lasts it knows the beginning alone."""
    wall, parked = sums.latency.wall_clock_seconds, sums.latency.parked_seconds
    if parked_since is None:
        return f"{wall:.1f}, {parked:.1f} waiting"
    return f"{wall:.1f} so far, and waits since {instant(parked_since)}"


def _cost(sums: TotalsReport) -> str:
    costs = ", ".join(map(_amount, sums.costs)) or "unknown"
    return f"{costs}, and calls without a price" if sums.costs and sums.cost_is_incomplete else costs


def _amount(cost: Cost) -> str:
    return f"{cost.amount:f} {cost.currency}"


def _counts(calls: int, as_usual: str, others: Mapping[str, int]) -> str:
    """How many calls there were; where some of them went otherwise, how many went how."""
    if not any(others.values()):
        return f"{calls} call{'' if calls == 1 else 's'}"
    told = [f"{calls} {as_usual}", *(f"{count} {how}" for how, count in others.items() if count)]
    return ", ".join(told)


def _at(moment: datetime | None) -> str:
    return instant(moment) if moment else "unknown"
