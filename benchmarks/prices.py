"""The second look-up of a price against the first, which reads the rows of a whole package."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figure import Figure, at_most
from benchmarks.setting import Setting

REPEATS = 1_000
PROGRAM = f"""
from datetime import UTC, datetime
from time import perf_counter
from psych_runtime.model.prices.genai import GenaiPrices

prices, at = GenaiPrices(), datetime(2026, 1, 2, tzinfo=UTC)
begun = perf_counter()
prices.price_for("gpt-4o", provider="openai", at=at, tier="default")
first = perf_counter()
for _ in range({REPEATS}):
    prices.price_for("gpt-4o", provider="openai", at=at, tier="default")
print((perf_counter() - first) / {REPEATS}, first - begun)
"""


def measure(setting: Setting) -> Iterator[Figure]:
    microseconds()
    pairs = [microseconds() for _ in range(setting.rounds)]
    again, first = zip(*pairs, strict=True)
    yield Figure("price look-up, repeated / the first", "µs", again, first, at_most(1 / 50))


def microseconds() -> tuple[float, float]:
    """What a repeated and what the first look-up takes in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-I", "-c", PROGRAM], capture_output=True, text=True, check=True)
    again, first = map(float, done.stdout.split())
    return 1e6 * again, 1e6 * first
