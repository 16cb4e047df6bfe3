"""A slow upload into the file of the Runs costs no Worker its lease: a short form of the minute."""

from pathlib import Path

from tests.e2e.uploads import WORKERS, Upload, beside_workers


async def test_workers_keep_their_leases_beside_a_slow_upload(tmp_path: Path) -> None:
    # Longer than two leases, of which each outlasts a disk that is held up for a second.
    upload = Upload(seconds=7, piece=200_000, pause=0.05, lease_seconds=3, turn_seconds=0.05)
    outcome = await beside_workers(tmp_path / "psych.db", upload)
    assert outcome.uploaded > 4 * 2**20, "it was stored in several commits"
    assert outcome.claims == (1,) * WORKERS
    assert outcome.crashes == (0,) * WORKERS
    assert outcome.calls > 20 * WORKERS
