"""Four processes on one SQLite file, killed and started again at random: a short form of the minute."""

from pathlib import Path

from tests.e2e.fleet import Trial, tried


def test_processes_that_are_killed_at_random_settle_every_run_once(tmp_path: Path) -> None:
    outcome = tried(Trial(tmp_path, processes=4, runs_of_each=10, seconds=2, concurrency=4, lease_seconds=1))
    assert outcome.runs == 40
    assert outcome.kills >= 1
    assert outcome.attempts > outcome.runs, "some of them were at work"
