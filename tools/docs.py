"""Writes into the documents what code knows better: tables of protocol and Specs, and who imports whom."""

import argparse
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bootstrap import ROOT
from psych_runtime.cli.exits import MEANINGS
from psych_runtime_core.state.lane import LanePhase
from psych_runtime_core.state.legal import LANE_TABLE, RUN_TABLE
from psych_runtime_core.state.run import RunPhase
from spec_fields import fields

DOCUMENTS = ROOT / "docs"
PART = re.compile(
    r"(?P<begin><!-- made by tools/docs\.py: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring every document up to date; with `--check` only name those that are not, and fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when one is out of date")
    options = parser.parse_args(arguments)
    old = [document for document in documents() if renewed(document.read_text()) != document.read_text()]
    for document in old:
        print(f"docs: {document.relative_to(ROOT)} {'is out of date' if options.check else 'renewed'}")
        if not options.check:
            document.write_text(renewed(document.read_text()))
    return 1 if old and options.check else 0


def documents() -> list[Path]:
    """Every document that may hold such a part."""
    return sorted(DOCUMENTS.rglob("*.md"))


def renewed(text: str) -> str:
    """`text` with each part as the code makes it now. Raises `KeyError` for a part that nobody makes."""

    def part(match: re.Match[str]) -> str:
        lines = "\n".join(PARTS[match["name"]]())
        return f"{match['begin']}\n{lines}\n\n{match['end']}"

    return PART.sub(part, text)


def run_table() -> Iterator[str]:
    """Which record may follow in which phase of a Run."""
    yield from header(["record", *RunPhase])
    for group, cells in RUN_TABLE.items():
        records = re.sub(r"[a-z_]+(\([a-z]+\))?(?=,|$)", r"`\g<0>`", group)
        yield row([records, *(cells[phase] or "yes" for phase in RunPhase)])


def lane_table() -> Iterator[str]:
    """Which record may follow in which phase of a lane."""
    yield from header(["record", *LanePhase])
    for record, phases in LANE_TABLE.items():
        yield row([f"`{record}`", *("yes" if phase in phases else "" for phase in LanePhase)])


def spec_fields() -> Iterator[str]:
    """Every field of a Spec."""
    yield from header(["field", "type", "default", "bounds"])
    yield from map(row, fields())


def header(names: Sequence[str]) -> Iterator[str]:
    """The head of a table."""
    yield row(names)
    yield row(["---"] * len(names))


def row(cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def layers() -> Iterator[str]:
    """The layers of core, as import-linter keeps them: each imports those below it alone."""
    yield "```mermaid"
    yield "flowchart TD"
    names = [re.findall(r"\((\w+)\)", layer) for layer in layers_of_core()]
    for number, layer in enumerate(names):
        yield f'    layer{number}["{" · ".join(layer)}"]'
    for number in range(len(names) - 1):
        yield f"    layer{number} --> layer{number + 1}"
    yield "```"


def layers_of_core() -> list[str]:
    """The layers, topmost first, as the settings of import-linter write them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    found: list[str] = next(each["layers"] for each in contracts if each["type"] == "layers")
    return found


def exit_codes() -> Iterator[str]:
    """What `psych` ends with."""
    yield from header(["ends with", "when"])
    for code, said in MEANINGS.items():
        yield row([str(code.value), said])


PARTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "run-table": run_table,
    "lane-table": lane_table,
    "layers": layers,
    "spec-fields": spec_fields,
    "exit-codes": exit_codes,
}


if __name__ == "__main__":
    sys.exit(main())
