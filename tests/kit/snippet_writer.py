"""`make snippets`: writes into documents what their blocks print, where they say otherwise."""

import ast
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path

from tests.house.checkout import ROOT, files
from tests.kit.command import UNSET
from tests.kit.snippets import PRINTED, Block, Heard, Played, Step, play


def main(names: Sequence[str]) -> int:
    """Bring the documents of these names up to date, or every one of the checkout that no project holds."""
    for name in UNSET:
        os.environ.pop(name, None)
    every = [path for path in files() if path.suffix == ".md" and path.parts[0] != "templates"]
    for path in [Path(name) for name in names] or [path for path in every if path.name != "README.md"]:
        document = (ROOT / path).resolve()
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            wrong = [played for played in play(document, Path(folder)) if not played.agrees]
        if wrong:
            print(f"snippets: {path} renewed at {', '.join(str(played.place.line) for played in wrong)}")
            document.write_text(renewed(document.read_text(), wrong))
    return 0


def renewed(text: str, wrong: Sequence[Played]) -> str:
    """A document with what its blocks printed in the place of what it said."""
    lines = text.splitlines()
    for played in reversed(wrong):
        start, stop, new = _change(played)
        lines[start:stop] = new
    return "\n".join(lines) + "\n"


def _change(played: Played) -> tuple[int, int, list[str]]:
    """Which lines of the document are replaced, counted from 0, and by which."""
    place, below = played.place, played.below
    printed = played.printed.rstrip("\n").splitlines()
    if isinstance(place, Step):
        said = played.said.rstrip("\n").count("\n") + 1 if played.said.strip() else 0
        return place.line, place.line + said, printed
    if below is not None:
        return below.line - 1, below.line - 1 + below.text.count("\n"), printed
    assert played.heard is not None, "a python block is heard"
    return place.line - 1, place.line - 1 + place.text.count("\n"), list(_said_again(place, played.heard))


def _said_again(block: Block, heard: Heard) -> Iterator[str]:
    """The lines of a block, what each statement printed behind it."""
    by_end = _printed_by_end(block, heard)
    for number, line in enumerate(block.text.splitlines(), start=1):
        if not PRINTED.fullmatch(line):
            yield line
        indent, printed = by_end.get(number, ("", ""))
        yield from (f"{indent}# > {each}".rstrip() for each in printed.splitlines())


def _printed_by_end(block: Block, heard: Heard) -> Mapping[int, tuple[str, str]]:
    """By the last line of a statement within the block: its indent, and what it printed."""
    ends: dict[int, tuple[int, int]] = {}
    for node in ast.walk(ast.parse(block.text)):
        # An inner statement is walked later than the one around it.
        if isinstance(node, ast.stmt):
            last = node.end_lineno or node.lineno
            ends.update(dict.fromkeys(range(node.lineno, last + 1), (last, node.col_offset)))
    found: dict[int, tuple[str, str]] = defaultdict(lambda: ("", ""))
    for line, text in heard.pieces:
        # What a task printed by itself stands at the end.
        last, column = ends.get(line - block.line + 1, (max(ends), 0))
        found[last] = (" " * column, found[last][1] + text)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
