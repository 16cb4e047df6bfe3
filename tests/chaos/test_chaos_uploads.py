"""A minute of slow upload into the file of the Runs costs no Worker a lease of three seconds."""

from pathlib import Path

from tests.e2e.uploads import WORKERS, Upload, beside_workers


async def test_workers_keep_their_leases_beside_a_minute_of_upload(tmp_path: Path) -> None:
    upload = Upload(seconds=60, piece=100_000, pause=0.1, lease_seconds=3, turn_seconds=0.3)
    outcome = await beside_workers(tmp_path / "psych.db", upload)
    print(outcome)
    assert outcome.uploaded > 30 * 2**20
    assert outcome.claims == (1,) * WORKERS
    assert outcome.crashes == (0,) * WORKERS
    assert outcome.slowest < 3
