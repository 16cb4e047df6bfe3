"""Where a table was made."""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path


def machine() -> str:
    """The machine and what ran on it, in one line."""
    parts = (
        f"{os.cpu_count()} × {processor()}",
        f"{platform.system()} {platform.release()}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}, WAL, synchronous=FULL",
        f"load {os.getloadavg()[0]:.1f}",
    )
    return "; ".join(parts)


def processor() -> str:
    """What the machine calls its processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
