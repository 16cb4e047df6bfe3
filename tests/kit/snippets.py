"""The code blocks of a document: what they say to run, and whether what was printed is what they say."""

import ast
import asyncio
import codeop
import io
import re
import types
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_PRINTED = re.compile(r"^\s*# ?> ?(.*)$", re.MULTILINE)  # as ruff spaces it, or not


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
    for part in block.text.split("\n$ ") if block.text.startswith("$ ") else ():
        command, _, printed = part.removeprefix("$ ").partition("\n")
        yield Step(command, printed)


def agree(said: str, printed: str) -> bool:
    """Whether `printed` is what a document says, in which `…` stands for anything."""
    pattern = ".*?".join(map(re.escape, said.strip().split("…")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def python(document: Path) -> Iterator[tuple[Block, str, str]]:
    """Run the python blocks of a document, which share their names: each with what it says and prints.

    It says so in its lines after `# >`, or in a text block right behind it. A block may await at its top.
    """
    module = types.ModuleType("snippets")
    for block, after in pairwise([*blocks(document), Block("", "", 0)]):
        if block.language == "python":
            said = "\n".join(_PRINTED.findall(block.text))
            yield block, said or (after.text if after.language == "text" else ""), _run(block, module)


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


def _run(block: Block, module: types.ModuleType) -> str:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: Any = compile("\n" * (block.line - 1) + block.text, "snippet", "exec", flags, dont_inherit=True)
    printed = io.StringIO()
    with redirect_stdout(printed):
        waiting = types.FunctionType(code, vars(module))()
        if asyncio.iscoroutine(waiting):
            asyncio.run(waiting)
    return printed.getvalue()
