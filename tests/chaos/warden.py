"""Runs a command until stdin ends: when whoever holds its other end is killed, nothing is left running."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread

STDIN = 0
GRACE_SECONDS = 5.0


def main(command: Sequence[str]) -> int:
    """The command's exit code. Whatever it started goes with it."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    Thread(target=end_with_stdin, args=(child,), daemon=True).start()
    try:
        return child.wait()
    finally:
        signalled(child, signal.SIGKILL)


def end_with_stdin(child: subprocess.Popen[bytes]) -> None:
    """Ask it to stop once nobody can want it any more, and make it stop soon after."""
    while os.read(STDIN, 1_024):
        pass
    signalled(child, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_SECONDS)
    signalled(child, signal.SIGKILL)


def signalled(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Its whole group, which bears its number, if any of it is left."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
