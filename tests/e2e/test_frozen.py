"""A real process that is stopped past its lease, and goes on later: it finds that it may do nothing."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from psych_runtime import open_store
from psych_runtime.testing import EffectLedger, FakeModel
from tests.e2e import frozen_process
from tests.e2e.stage import at_work, begun, ended, entries, until

SCRIPT = "tests.e2e.frozen_process"


async def test_a_process_that_was_stopped_past_its_lease_writes_and_begins_nothing(tmp_path: Path) -> None:
    url, ledger = f"sqlite:///{tmp_path / 'psych.db'}", EffectLedger(tmp_path / "ledger")
    async with open_store(url, migrate=True) as store:
        run_id = await begun(store, frozen_process.SPEC)
        path = os.pathsep.join(filter(None, sys.path))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", SCRIPT, url, str(tmp_path / "ledger")),
            env={**os.environ, "PYTHONPATH": path},
        )
        try:
            await until(lambda: len(ledger.invocations) == 1)
            process.send_signal(signal.SIGSTOP)
            registry = ledger.wrap(frozen_process.registry(seconds=0.0))
            model = FakeModel().turn("Found it in the file.")
            async with at_work(store, model, registry, lease_seconds=1, poll_interval=0.2):
                state = await ended(store, run_id, ledger)
            before = await entries(store, run_id)
            process.send_signal(signal.SIGCONT)
            await asyncio.sleep(1.5)
        finally:
            process.kill()
            await process.wait()
        assert await entries(store, run_id) == before
    assert state.terminal_state == "completed"
    assert state.attempt_count == 2
    assert [each.tool for each in ledger.invocations] == ["pay"]
