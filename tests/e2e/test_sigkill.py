"""Real processes on one SQLite file, killed with SIGKILL at every commit and around every tool."""

from pathlib import Path

import pytest

from psych_runtime.testing import sigkill_everywhere


@pytest.mark.timeout(300)
def test_a_process_may_be_killed_at_every_commit_and_around_every_tool(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/{{}}.db"
    report = sigkill_everywhere("tests.e2e.scenes:scenario", store_url=url, points=1_000)
    assert report.points > 55
    assert any("tool refund" in point for point in report.unknown)


def test_on_one_store_the_trials_go_one_after_another(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/psych.db"
    assert sigkill_everywhere("tests.e2e.scenes:ten_turns", store_url=url, points=3).points == 3
