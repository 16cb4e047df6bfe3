"""Four processes on one SQLite file, killed and started again at random for a minute."""

from pathlib import Path

from tests.e2e.fleet import Trial, tried


def test_of_800_runs_every_one_settles_once_though_processes_are_killed_for_a_minute(tmp_path: Path) -> None:
    outcome = tried(
        Trial(tmp_path, processes=4, runs_of_each=200, seconds=60, concurrency=16, lease_seconds=2)
    )
    print(outcome)
    assert outcome.runs == 800
    assert outcome.kills > 40
    assert outcome.attempts > outcome.runs + 100, "most of them were at work"
