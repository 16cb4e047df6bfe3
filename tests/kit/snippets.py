"""The code blocks of a document: what they say to run, and whether what was printed is what they say."""

import ast
import asyncio
import codeop
import inspect
import io
import re
import types
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.kit.command import run

PRINTED = re.compile(r"^\s*# ?> ?(.*)$", re.MULTILINE)  # as ruff spaces it, or not
# Those build, and install what others wrote.
ELSEWHERE = {
    "python3 -m venv venv && . venv/bin/activate",
    "make wheels",
    "pip install --no-deps --require-hashes --requirement dist/locked.txt",
}
_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = "snippet"


@dataclass(frozen=True)
class Block:
    """One block and the line that it begins in."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Step:
    """A command of a console block, and what stands below it."""

    command: str
    printed: str
    line: int


class Heard(io.StringIO):
    """What a block printed, in pieces, each with the line of the document that printed it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[tuple[int, str]] = []

    def write(self, text: str) -> int:
        frame, line = inspect.currentframe(), 0
        while frame is not None:
            # The outermost is the block itself, below which its functions are.
            line = frame.f_lineno if frame.f_code.co_filename == _FILE else line
            frame = frame.f_back
        self.pieces.append((line, text))
        return super().write(text)


@dataclass(frozen=True)
class Played:
    """A python block or a command that ran: what the document says of it, and what it printed.

    `place` is the block with what was said; `below`: that is the text block behind it. `heard` is a python
    block's alone.
    """

    place: Block | Step
    said: str
    printed: str
    below: Block | None = None
    heard: Heard | None = None

    @property
    def agrees(self) -> bool:
        return agree(self.said, self.printed)


def blocks(document: Path) -> list[Block]:
    """Every block of a document, in order."""
    text = document.read_text()
    return [
        Block(match["language"], match["text"], text.count("\n", 0, match.start()) + 2)
        for match in _BLOCK.finditer(text)
    ]


def steps(document: Path) -> list[Step]:
    """Every command of a document's console blocks, in order."""
    return [step for block in blocks(document) if block.language == "console" for step in _steps(block)]


def _steps(block: Block) -> Iterator[Step]:
    line = block.line
    for part in block.text.split("\n$ ") if block.text.startswith("$ ") else ():
        command, _, printed = part.removeprefix("$ ").partition("\n")
        yield Step(command, printed, line)
        line += part.rstrip("\n").count("\n") + 1


def agree(said: str, printed: str) -> bool:
    """Whether `printed` is what a document says, in which `…` stands for anything."""
    pattern = ".*?".join(map(re.escape, said.strip().split("…")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def python(document: Path) -> Iterator[tuple[Block, str, str]]:
    """Run the python blocks of a document alone: each with what it says and prints."""
    for played in play(document, commands=False):
        if isinstance(played.place, Block):
            yield played.place, played.said, played.printed


def play(document: Path, folder: Path | None = None, *, commands: bool = True) -> Iterator[Played]:
    """Run the blocks of a document in their order; the commands of consoles in `folder`.

    Python blocks share their names. One says what it prints in its lines after `# >`, or in a text block
    right behind it, and may await at its top.
    """
    module = types.ModuleType("snippets")
    for block, after in pairwise([*blocks(document), Block("", "", 0)]):
        if block.language == "python":
            said = "\n".join(PRINTED.findall(block.text))
            below = after if after.language == "text" and not said else None
            heard = _run(block, module)
            yield Played(block, below.text if below else said, heard.getvalue(), below, heard)
        elif block.language == "console" and commands:
            for step in _steps(block):
                if step.command not in ELSEWHERE:
                    ended = run(f"{step.command} 2>&1", cwd=folder)
                    yield Played(step, step.printed, ended.out)


def torn(block: Block) -> str | None:
    """The first line that `python -m asyncio` would not take, if the block was pasted there line by line."""
    compiled = codeop.CommandCompiler()
    compiled.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    pending: list[str] = []
    for line in [*block.text.splitlines(), ""]:
        pending.append(line)
        try:
            whole = compiled("\n".join(pending), "snippet", "single")
        except SyntaxError:
            return line
        if whole is not None:
            pending.clear()
    return None


def _run(block: Block, module: types.ModuleType) -> Heard:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: Any = compile("\n" * (block.line - 1) + block.text, _FILE, "exec", flags, dont_inherit=True)
    heard = Heard()
    with redirect_stdout(heard):
        waiting = types.FunctionType(code, vars(module))()
        if asyncio.iscoroutine(waiting):
            asyncio.run(waiting)
    return heard
