"""Takes the measures and prints a table of each: `python -m benchmarks.run [--only turn,fold]`."""

from __future__ import annotations

import argparse
import inspect
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import (
    backlog,
    claims,
    commits,
    egress,
    entries,
    folds,
    growth,
    idle,
    imports,
    interference,
    parallel,
    prices,
    readers,
    recovery,
    requests,
    sends,
    storage,
    streams,
    turns,
    watches,
)
from benchmarks.figure import Figure
from benchmarks.machine import machine
from benchmarks.setting import Setting
from benchmarks.table import table

ROOT = Path(__file__).resolve().parents[1]
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- the last run begins -->\n", "<!-- the last run ends -->\n"

MEASURES: Mapping[str, Callable[[Setting], Iterable[Figure]]] = {
    "turn": turns.measure,
    "commit": commits.measure,
    "claim": claims.measure,
    "backlog": backlog.measure,
    "fold": folds.measure,
    "growth": growth.measure,
    "entry": entries.measure,
    "parallel": parallel.measure,
    "reader": readers.measure,
    "idle": idle.measure,
    "import": imports.measure,
    "price": prices.measure,
    "stream": streams.measure,
    "request": requests.measure,
    "egress": egress.measure,
    "send": sends.measure,
    "interference": interference.measure,
    "storage": storage.measure,
    "watch": watches.measure,
    "recovery": recovery.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the chosen measures; 0 however they come out."""
    options = parse(arguments)
    print(machine(), flush=True)
    figures: list[Figure] = []
    # Beside the checkout and not in the temporary folder, which may be memory.
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=ROOT) as folder:
        for name in options.only:
            setting = Setting(Path(folder), options.rounds, options.share)
            taken = list(MEASURES[name](setting))
            print(f"\n{name}\n{table(taken)}", flush=True)
            figures += taken
    if "commit" in options.only:
        print(f"\nwhat a turn is measured by:\n\n{bare_side()}")
    if options.write:
        write(f"{machine()}\n\n{table(figures)}\n")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"measures: {' '.join(MEASURES)}")
    parser.add_argument("--only", metavar="MEASURE,…", help="these measures alone")
    parser.add_argument("--rounds", type=int, default=7, help="how often each side is measured (7)")
    parser.add_argument("--share", type=float, default=1.0, help="the size, as a share of the full one (1)")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",") if options.only else list(MEASURES)
    unknown = set(options.only) - set(MEASURES)
    if unknown:
        parser.error(f"no such measure: {' '.join(sorted(unknown))}; there are: {' '.join(MEASURES)}")
    return options


def bare_side() -> str:
    """The source of the two bare commits."""
    return "\n\n".join(inspect.getsource(part) for part in commits.BARE)


def write(text: str) -> None:
    """Replace the last run in the README."""
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{text.strip()}\n\n{END}{after}")


if __name__ == "__main__":
    raise SystemExit(main())
