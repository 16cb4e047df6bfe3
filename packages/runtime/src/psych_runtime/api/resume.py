"""Answers to what a Run waits for: the general form, its short forms, and many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from psych_runtime.api.access import author, header_of, scope_of
from psych_runtime.api.answers import Answer
from psych_runtime.api.arguments import identifier, mapping, of_kind
from psych_runtime.api.asked import AskedRun
from psych_runtime.api.decisions import decision
from psych_runtime.api.external import land, stamped, waking
from psych_runtime_core.ids import RunId
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.writes import Append
from psych_runtime_core.scope import Scope
from psych_runtime_core.state.fold import facts_of, rewind, stage


async def resume(  # noqa: PLR0913 - the options of a public call
    store: Store,
    run_id: RunId | str,
    *,
    approved: bool | None = None,
    payload: Mapping[str, Json] | None = None,
    arguments: Mapping[str, Json] | None = None,
    wait: str | None = None,
    remember: Literal["arguments", "tool"] | None = None,
    by: str | None = None,
    scope: Scope | None = None,
) -> None:
    """Answer the Wait `wait`, or the one that is open. What the fields mean: `Answer`.

    An answer equal to the recorded one by the same person changes nothing, whatever came after.

    Raises `RunNotSuspended` when nothing is open, `WaitAmbiguous` when several are, `WaitNotFound` for a
    named one that is not, `SuspensionExpired` past its time, `RunAlreadySettled` for a Run that is stopping
    or settled, `ValueError` for an answer of another form, `EntryTooLarge`, `RunNotFound`, `AccessDenied`,
    `CorruptLog`, `RecordTooNew`. An error means that nothing was written.
    """
    answer = Answer(approved, payload, arguments, remember)
    await _give(store, run_id, {_named(wait): answer}, by, scope)


async def approve(  # noqa: PLR0913 - the options of a public call
    store: Store,
    run_id: RunId | str,
    wait: str | None = None,
    *,
    arguments: Mapping[str, Json] | None = None,
    remember: Literal["arguments", "tool"] | None = None,
    by: str | None = None,
    scope: Scope | None = None,
) -> None:
    """Say yes to a call, as it was shown or with other `arguments`. Raises as `resume` does."""
    answer = Answer(approved=True, arguments=arguments, remember=remember)
    await _give(store, run_id, {_named(wait): answer}, by, scope)


async def deny(  # noqa: PLR0913 - the options of a public call
    store: Store,
    run_id: RunId | str,
    wait: str | None = None,
    *,
    reason: str = "",
    remember: Literal["arguments", "tool"] | None = None,
    by: str | None = None,
    scope: Scope | None = None,
) -> None:
    """Say no to a call; the model is told the `reason`. Raises as `resume` does."""
    payload = {"reason": reason} if of_kind("reason", reason, str) else None
    answer = Answer(approved=False, payload=payload, remember=remember)
    await _give(store, run_id, {_named(wait): answer}, by, scope)


async def resume_all(
    store: Store,
    run_id: RunId | str,
    answers: Mapping[str, Answer],
    *,
    by: str | None = None,
    scope: Scope | None = None,
) -> None:
    """Answer several Waits, by their ids, in one commit: all or none. Raises as `resume` does."""
    named: dict[str | None, Answer] = {
        identifier("answers", wait): of_kind("answers", answer, Answer)
        for wait, answer in mapping("answers", answers).items()
    }
    if not named:
        raise ValueError("answers is empty; give one Answer at least")
    await _give(store, run_id, named, by, scope)


def _named(wait: str | None) -> str | None:
    return None if wait is None else identifier("wait", wait)


async def _give(
    store: Store,
    run_id: RunId | str,
    answers: Mapping[str | None, Answer],
    by: str | None,
    scope: Scope | None,
) -> None:
    """Record the answers to these Waits, those that stand already left out; None is the open one."""
    run_id, held = RunId(identifier("run_id", run_id)), scope_of(store, scope)
    person = author(by, held)
    asked: AskedRun | None = None

    async def decide() -> Append | None:
        nonlocal asked
        header = await header_of(store, run_id, held)
        asked = asked or AskedRun(store, header)
        rewind(asked.state)
        await asked.catch_up()
        now = store.clock.now()
        decided = [decision(asked, wait, answer, person, now) for wait, answer in answers.items()]
        records = stamped(store, header, asked.head.seq, [record for record in decided if record is not None])
        for record in records:
            stage(asked.state, record)
        return await waking(store, header, asked.head, records, facts_of(asked.state)) if records else None

    await land(store, decide)
