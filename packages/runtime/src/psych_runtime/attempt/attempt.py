"""One Attempt: what a claimed Run needs first, its drive, and how each of its ends is written."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version as installed_version
from typing import TypeVar

from psych_runtime.attempt.context import AttemptContext
from psych_runtime.attempt.drive import Driver, Pace
from psych_runtime.attempt.journal import Journal, LogDiverged, LostRace
from psych_runtime.attempt.loaded import Loaded
from psych_runtime.attempt.outcome import Ended, Outcome
from psych_runtime.attempt.outputs import Outputs
from psych_runtime.attempt.patience import answered
from psych_runtime.attempt.perform import no_performer, performer
from psych_runtime.attempt.permission import run_is_allowed
from psych_runtime.attempt.seat import Seat
from psych_runtime.attempt.terms import Shared
from psych_runtime.attempt.versions import Served, Unserved
from psych_runtime_core.engine import wording
from psych_runtime_core.engine.decide import due_effects
from psych_runtime_core.engine.ending import closing
from psych_runtime_core.engine.plan import Plans
from psych_runtime_core.engine.prompt import system_prompt
from psych_runtime_core.errors import (
    CorruptLog,
    EntryTooLarge,
    LeaseLost,
    RecordTooNew,
    SeqConflict,
    StoreError,
    VersionNotFound,
)
from psych_runtime_core.ports.claims import Claim
from psych_runtime_core.ports.runs import NOW
from psych_runtime_core.records import Head
from psych_runtime_core.records.facts import FailureKind, TerminalState, ToolFailure
from psych_runtime_core.records.run import AttemptStarted

logger = logging.getLogger("psych_runtime.attempt")
T = TypeVar("T")
# A Run whose Worker dies again and again rests this long at the most before it is tried again.
LONGEST_REST_SECONDS = 300


@cache
def library() -> str:
    """The release that writes."""
    return installed_version("psych-runtime")


class Attempt:
    """Drives one claimed Run under its lease. It never raises for a Run that is in a bad way."""

    def __init__(self, claim: Claim, seat: Seat, shared: Shared) -> None:
        self._claim, self._seat, self._shared = claim, seat, shared
        self._store = shared.runtime.store
        self._scope = claim.header.scope

    async def run(self) -> Outcome:
        """Drive the Run until it settles, rests, or is no longer ours."""
        run_id = self._claim.header.run_id
        try:
            return await self._run()
        except LeaseLost:
            logger.warning("the lease of %s is lost; its Attempt ends here", run_id)
        except StoreError as error:
            logger.warning("%s is left to the next Worker: %s", run_id, error)
        except Exception:
            logger.exception("%s could not be ended either, and is left to the next Worker", run_id)
        return Outcome(Ended.LOST)

    async def _run(self) -> Outcome:
        try:
            return await self._attempted()
        except EntryTooLarge as error:
            return await self._failed(error)
        except StoreError:
            raise
        except RecordTooNew as error:
            return await self._leave(Ended.TOO_NEW, str(error))
        except CorruptLog as error:
            return await self._quarantine(error)
        except LogDiverged as error:
            return await self._lost_entries(error)
        except Exception as error:
            return await self._failed(error)

    async def _attempted(self) -> Outcome:
        header = self._claim.header
        if self._claim.reclaimed and header.crashes >= 2:
            return await self._rest_a_while(header.crashes)
        served = await self._ask(lambda: self._shared.versions.serve(header.version_hash))
        system = "" if isinstance(served, Unserved) else system_prompt(served.plan.spec)
        loaded = self._seat.loaded or Loaded.nothing(header.run_id, system)
        await self._ask(lambda: loaded.catch_up(self._store, self._scope))
        journal = self._journal(loaded)
        due = bool(due_effects(loaded.state, self._store.clock.now()))
        if header.crashes >= self._shared.terms.max_crashes and not due:
            text = wording.attempts_exhausted(header.crashes)
            return await self._close(journal, ToolFailure(kind=FailureKind.ATTEMPTS_EXHAUSTED, message=text))
        if isinstance(served, Unserved):
            return await (self._settle_due(journal) if due else self._leave(Ended.UNSERVED, served.reason))
        return await (self._drive if due else self._permitted)(journal, loaded, served)

    async def _settle_due(self, journal: Journal) -> Outcome:
        """What is due is decided without the Version, so whoever cannot serve it settles it all the same."""
        try:
            return Outcome(await self._driver(journal, {}).run(no_performer))
        except VersionNotFound as error:
            # An answer landed first, and now nothing is due.
            return await self._leave(Ended.UNSERVED, str(error))

    async def _leave(self, ended: Ended, missing: str) -> Outcome:
        """Give the Run to the next Worker, which can do what this one cannot."""
        await self._ask(lambda: self._store.release(self._seat.hold.lease, NOW))
        return Outcome(ended, missing=missing)

    async def _permitted(self, journal: Journal, loaded: Loaded, served: Served) -> Outcome:
        """Ask the Policy about a Run of which nothing has begun."""
        if loaded.state.attempt_count == 1:
            verdict = await run_is_allowed(self._shared.runtime.policy, self._scope, served.plan.version)
            if not verdict.allowed:
                text = wording.run_denied(verdict.reason)
                return await self._close(journal, ToolFailure(kind=FailureKind.ACCESS_DENIED, message=text))
        return await self._drive(journal, loaded, served)

    async def _drive(self, journal: Journal, loaded: Loaded, served: Served) -> Outcome:
        plan = served.plan
        context = AttemptContext(
            self._shared.runtime,
            plan,
            served.tools,
            loaded.state,
            Outputs(self._shared.runtime, loaded.state),
            loaded.conversation,
            self._shared.terms.grace_seconds,
        )
        driver = self._driver(journal, {plan.hash: plan})
        try:
            ended = await driver.run(performer(context))
        finally:
            # A start that was decided and never stood has its place still.
            context.let_go(*context.begun)
        return Outcome(ended, loaded=loaded, due_at=driver.rests_until)

    def _driver(self, journal: Journal, plans: Plans) -> Driver:
        pace = Pace(self._store.clock, timedelta(seconds=self._shared.terms.linger_seconds))
        return Driver(journal, plans, self._seat.inbox, self._shared.orders, pace)

    def _journal(self, loaded: Loaded) -> Journal:
        opening = AttemptStarted(
            worker_id=self._seat.hold.lease.worker_id,
            attempt_number=loaded.state.attempt_count + 1,
            reclaimed_expired_lease=self._claim.reclaimed,
            library=library(),
        )
        journal = Journal(self._store, loaded, self._seat.hold, opening, self._seat.on_head)
        self._seat.journal = journal
        return journal

    async def _rest_a_while(self, crashes: int) -> Outcome:
        rest = timedelta(seconds=min(2 ** (crashes - 1), LONGEST_REST_SECONDS))
        await self._let_go(self._store.clock.now() + rest)
        return Outcome(Ended.PARKED)

    async def _failed(self, error: Exception) -> Outcome:
        """Settle a Run that an error of ours ended, from a log folded anew."""
        run_id, trace = self._claim.header.run_id, "".join(traceback.format_exception(error))
        logger.error("an error inside psych-runtime ends %s", run_id, exc_info=error)
        failure = ToolFailure(
            kind=FailureKind.ATTEMPT_FAILED, message=wording.attempt_failed(), traceback=trace
        )
        return await self._closed_anew(failure)

    async def _lost_entries(self, lost: LogDiverged) -> Outcome:
        """Settle a Run whose store forgot what it had acknowledged, from the log as it stands."""
        logger.error("the store lost entries of %s: %s", self._claim.header.run_id, lost)
        header = await self._ask(lambda: self._store.get_run(self._claim.header.run_id))
        text = wording.store_lost_entries(lost.ours.seq, header.head.seq)
        return await self._closed_anew(ToolFailure(kind=FailureKind.STORE_LOST_ENTRIES, message=text))

    async def _closed_anew(self, failure: ToolFailure) -> Outcome:
        loaded = Loaded.nothing(self._claim.header.run_id, "")
        try:
            await self._ask(lambda: loaded.catch_up(self._store, self._scope))
        except CorruptLog as error:
            return await self._quarantine(error)
        return await self._close(self._journal(loaded), failure)

    async def _quarantine(self, error: CorruptLog) -> Outcome:
        """Nobody looks at a contradictory log again until somebody writes to it, or purges it."""
        logger.error("quarantined: %s", error)
        await self._let_go(None)
        return Outcome(Ended.QUARANTINED)

    async def _let_go(self, ready_at: datetime | None) -> None:
        """Release the Run as it is, whatever was written meanwhile."""
        head: Head | None = self._claim.header.head
        while head is not None:
            head = await self._let_go_at(head, ready_at)

    async def _let_go_at(self, head: Head, ready_at: datetime | None) -> Head | None:
        """Release the Run if its log ends at `head`, else say where it ends."""
        try:
            await self._ask(lambda: self._store.release(self._seat.hold.lease, ready_at, after=head))
        except SeqConflict as conflict:
            if not isinstance(conflict.head, Head):
                raise
            return conflict.head
        return None

    async def _ask(self, call: Callable[[], Awaitable[T]]) -> T:
        return await answered(call, self._seat.hold, self._store.clock)

    async def _close(self, journal: Journal, failure: ToolFailure) -> Outcome:
        """Close what is open and settle the Run `failed`."""
        while journal.state.settled is None:
            try:
                journal.stage(closing(journal.state, TerminalState.FAILED, failure))
                await journal.commit()
            except LostRace:
                continue
        return Outcome(Ended.SETTLED)
