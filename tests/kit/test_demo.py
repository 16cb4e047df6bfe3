"""`make demo` shows a recovery, and fails when there is none."""

import asyncio
import sqlite3
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import demo
from demo import Evidence, facts, told
from demo_worker import ANSWER, Place
from psych_runtime import open_store
from tests.house.checkout import ROOT
from tests.kit.command import run


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """What a demo that held has left."""
    return asyncio.run(demo.show(Place(tmp_path_factory.mktemp("demo"))))


def broken(evidence: Evidence) -> list[str]:
    """The claims that do not hold."""
    return [claim for claim, holds in facts(evidence).items() if not holds]


def test_every_fact_holds(evidence: Evidence) -> None:
    assert broken(evidence) == []


def test_the_line_it_prints_shows_the_run(evidence: Evidence) -> None:
    shown = run(list(told(evidence))[-1], cwd=ROOT)
    assert shown.code == 0
    assert f"  answer      {ANSWER}\n  attempts    2\n" in shown.out


def test_the_call_that_was_interrupted_began_twice_and_the_charge_once(evidence: Evidence) -> None:
    assert evidence.ledger == [
        "charge_card 42 EUR for order A1, by worker-A",
        "lookup_order A1, by worker-A",
        "lookup_order A1, by worker-B",
    ]


def charged_again(evidence: Evidence) -> Evidence:
    return replace(evidence, ledger=[*evidence.ledger, "charge_card 42 EUR for order A1, by worker-B"])


def never_charged(evidence: Evidence) -> Evidence:
    return replace(evidence, ledger=evidence.ledger[1:])


def one_attempt(evidence: Evidence) -> Evidence:
    return replace(evidence, report=replace(evidence.report, attempts=evidence.report.attempts[:1]))


def another_answer(evidence: Evidence) -> Evidence:
    return replace(evidence, answer="I charged 84 EUR.")


def not_killed(evidence: Evidence) -> Evidence:
    return replace(evidence, killed=0)


def broken_chain(evidence: Evidence) -> Evidence:
    return replace(evidence, verified=None)


def cut_log(evidence: Evidence) -> Evidence:
    return replace(evidence, records=evidence.records[:-1])


def not_run_again(evidence: Evidence) -> Evidence:
    calls = tuple(replace(call, run_number=1) for call in evidence.report.tool_calls)
    return replace(evidence, report=replace(evidence.report, tool_calls=calls))


@pytest.mark.parametrize(
    ("change", "claim"),
    [
        (charged_again, "the card was charged once"),
        (never_charged, "the card was charged once"),
        (one_attempt, "it took two Attempts"),
        (another_answer, "its answer is the expected one"),
        (not_killed, "worker-A was killed"),
        (broken_chain, "every entry of the log is chained to the one before"),
        (cut_log, "every entry of the log is chained to the one before"),
        (not_run_again, "the interrupted call was run again, to its end"),
    ],
)
def test_each_fact_can_fail(evidence: Evidence, change: Callable[[Evidence], Evidence], claim: str) -> None:
    assert broken(change(evidence)) == [claim]


def test_a_changed_byte_of_the_stored_log_breaks_the_chain(evidence: Evidence, tmp_path: Path) -> None:
    stored, copy = Place(evidence.place.folder), Place(tmp_path)
    with (
        sqlite3.connect(stored.folder / "demo.db") as source,
        sqlite3.connect(tmp_path / "demo.db") as target,
    ):
        source.backup(target)
        (body,) = target.execute("SELECT body FROM psych_entry WHERE seq = 5").fetchone()
        changed = body.replace(b"42 EUR", b"41 EUR")
        target.execute("UPDATE psych_entry SET body = ? WHERE seq = 5", (changed,))

    async def entries() -> int | None:
        async with open_store(copy.url) as store:
            return await demo.entries_verified(store, evidence.report.run_id)

    assert changed != body
    assert asyncio.run(entries()) is None


@pytest.mark.parametrize("sabotaged", ["worker-A", "worker-B"])
def test_it_fails_when_a_worker_does_not_do_its_part(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path, sabotaged: str
) -> None:
    start = demo.start

    async def start_some(name: str, place: Place, run_id: str) -> Process:
        if name == sabotaged:
            return await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=-1)
        return await start(name, place, run_id)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "start", start_some)
    monkeypatch.setattr(demo, "PATIENCE_SECONDS", 3.0)
    assert demo.main() == 1
    said = capfd.readouterr().err
    assert "demo: this does not hold: it took two Attempts" in said
