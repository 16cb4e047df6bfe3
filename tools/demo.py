"""A Worker is killed in the middle of a tool call, and another one finishes its Run.

No key and no service: a scripted model, a SQLite file, two processes.
"""

import asyncio
import signal
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import anyio

from demo_worker import ANSWER, SPEC, Place
from psych_runtime import (
    AttemptStarted,
    CorruptLog,
    Record,
    RunReport,
    Scope,
    Store,
    TerminalState,
    ToolCallReport,
    ToolOutcome,
    answer,
    dispatch,
    open_store,
    records,
    report,
    stream,
    verify,
)

# Each of the two halves takes a few seconds.
PATIENCE_SECONDS = 15.0
WORKER = Path(__file__).resolve().with_name("demo_worker.py")


def main() -> int:
    """Show it, in a new folder; 0 only when every fact holds."""
    evidence = asyncio.run(show(Place(Path(tempfile.mkdtemp(prefix="psych-demo-")))))
    print("\n".join(told(evidence)))
    broken = [claim for claim, holds in facts(evidence).items() if not holds]
    for claim in broken:
        print(f"demo: this does not hold: {claim}", file=sys.stderr)
    return 1 if broken else 0


@dataclass(frozen=True)
class Evidence:
    """What is left when it is over. `killed` is how the first Worker's process ended."""

    place: Place
    killed: int | None
    records: Sequence[Record]
    answer: str | None
    report: RunReport
    verified: int | None
    ledger: Sequence[str]


# --- what happens -------------------------------------------------------------------------------------


async def show(place: Place) -> Evidence:
    """Dispatch a Run, kill its Worker in the middle of a call, start another one, and look."""
    async with open_store(place.url, migrate=True) as store:
        asked = "charge the card for A1, and where is it?"
        run_id = (await dispatch(store, SPEC, Scope(tenant="demo"), input=asked)).run_id
        print("worker-A claims the Run and charges the card", flush=True)
        first = await start("worker-A", place, run_id)
        await in_the_middle(place.ledger)
        first.send_signal(signal.SIGKILL)
        killed = await first.wait()
        print("worker-A is killed in the middle of lookup_order", flush=True)
        second = await start("worker-B", place, run_id)
        print("worker-B waits out the lease of worker-A, and takes the Run up", flush=True)
        await settled(store, run_id, second)
        return Evidence(
            place=place,
            killed=killed,
            records=await records(store, run_id),
            answer=(await answer(store, run_id)).text,
            report=await report(store, run_id),
            verified=await entries_verified(store, run_id),
            ledger=lines_of(place.ledger),
        )


async def start(name: str, place: Place, run_id: str) -> Process:
    """A Worker in a process of its own."""
    return await asyncio.create_subprocess_exec(sys.executable, str(WORKER), name, str(place.folder), run_id)


async def in_the_middle(ledger: Path) -> None:
    """Return once `lookup_order` has begun; it will not end by itself."""
    with anyio.move_on_after(PATIENCE_SECONDS):
        while "lookup_order" not in str(lines_of(ledger)):  # noqa: ASYNC110 - another process writes it
            await anyio.sleep(0.02)


async def settled(store: Store, run_id: str, worker: Process) -> None:
    """Return once the Run has ended and its Worker has left, or when there is no patience left."""
    with anyio.move_on_after(PATIENCE_SECONDS):
        async for _ in stream(store, run_id):
            pass
        await worker.wait()
    if worker.returncode is None:
        worker.kill()
        await worker.wait()


async def entries_verified(store: Store, run_id: str) -> int | None:
    """How many entries the log has, each chained to the one before; None when the chain is broken."""
    try:
        return (await verify(store, run_id)).entries
    except CorruptLog:
        return None


def lines_of(ledger: Path) -> Sequence[str]:
    """What the tools really did."""
    return ledger.read_text().splitlines() if ledger.exists() else ()


# --- what must hold -----------------------------------------------------------------------------------


def facts(evidence: Evidence) -> Mapping[str, bool]:
    """Each claim, and whether it holds."""
    charges = [line for line in evidence.ledger if line.startswith("charge_card")]
    again = interrupted(evidence.report)
    return {
        "worker-A was killed": evidence.killed == -signal.SIGKILL,
        "the Run is completed": evidence.report.terminal_state is TerminalState.COMPLETED,
        "its answer is the expected one": evidence.answer == ANSWER,
        "it took two Attempts": len(evidence.report.attempts) == 2,
        "the card was charged once": len(charges) == 1,
        "the interrupted call was run again, to its end": again is not None
        and (again.run_number, again.outcome) == (2, ToolOutcome.OK),
        "every entry of the log is chained to the one before": evidence.verified == len(evidence.records),
    }


def interrupted(report: RunReport) -> ToolCallReport | None:
    """The call in whose middle the Worker was killed."""
    return next((call for call in report.tool_calls if call.tool == "lookup_order"), None)


# --- what is told -------------------------------------------------------------------------------------


def told(evidence: Evidence) -> Iterator[str]:
    """The log as a table, and what the library says of the Run."""
    yield ""
    yield from table(evidence.records)
    yield ""
    for name, text in sayings(evidence):
        yield f"{name:<12} {text}"
    yield ""
    yield f"{psych()} show {evidence.report.run_id} --store {quote(evidence.place.url)}"


def table(log: Sequence[Record]) -> Iterator[str]:
    """Every record, and the process that wrote it. Epoch 0 is a writer without a lease: this one."""
    processes: dict[int, str] = {0: "demo"}
    yield f"{'seq':>3}  {'record':<19}  epoch  process"
    for record in log:
        if isinstance(record, AttemptStarted):
            processes[record.epoch] = record.worker_id
        yield f"{record.seq:>3}  {record.type:<19}  {record.epoch:>5}  {processes[record.epoch]}"


def sayings(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """The answer, the interrupted call, the report, the chain, and the ledger."""
    run = evidence.report
    usage, cost, again = run.totals.usage, run.totals.cost, interrupted(run)
    yield "answer", evidence.answer or "none"
    if again is not None:
        ending = again.outcome or "not ended"
        yield "interrupted", f"{again.tool} may be run again, and was: run {again.run_number} ended {ending}"
    yield "attempts", ", ".join(f"{each.attempt_number} by {each.worker_id}" for each in run.attempts)
    yield "tokens", f"{usage.prompt} in, {usage.output} out" if usage else "unknown"
    yield "cost", f"{cost.amount:f} {cost.currency}" if cost else "unknown"
    holds = f"{evidence.verified} entries, each chained to the one before"
    yield "verify", holds if evidence.verified else "the chain is broken"
    for number, line in enumerate(evidence.ledger):
        yield ("" if number else "ledger"), line


def psych() -> str:
    """The command beside this Python, as it is typed from here."""
    path = Path(sys.executable).with_name("psych")
    here = Path.cwd()
    return quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


if __name__ == "__main__":
    sys.exit(main())
