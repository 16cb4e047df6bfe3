"""Nothing is left running, whichever way the tests end."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE

import pytest

from tests.chaos.proxy import WARDEN

SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
HOLDER = """
import subprocess, sys, time
subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
time.sleep(600)
"""


@pytest.mark.parametrize(
    "program",
    [pytest.param(SLEEPER, id="one that obeys"), pytest.param(DEAF, id="one that heeds no SIGTERM")],
)
async def test_a_killed_test_run_leaves_no_process(program: str) -> None:
    warden = (sys.executable, "-I", str(WARDEN), sys.executable, "-c", program)
    holder = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, *warden, stdout=PIPE)
    assert holder.stdout is not None
    async with asyncio.timeout(60):
        assert await holder.stdout.readline() == b"up\n"
        holder.send_signal(signal.SIGKILL)
        # All three hold the other end of this pipe, so it ends when the last of them is gone.
        assert await holder.stdout.read() == b""
        await holder.wait()


async def test_a_command_that_ends_by_itself_says_how() -> None:
    warden = (sys.executable, "-I", str(WARDEN), sys.executable, "-c", "raise SystemExit(3)")
    process = await asyncio.create_subprocess_exec(*warden, stdin=PIPE)
    async with asyncio.timeout(60):
        assert await process.wait() == 3
