"""`psych new NAME`: a project that runs as it stands."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from pathlib import Path
from shlex import quote

from psych_runtime.cli.documents import Project
from psych_runtime.cli.exits import Exit
from psych_runtime.cli.naming import names_of
from psych_runtime.cli.output import Output, Row
from psych_runtime.cli.placing import place
from psych_runtime.cli.rendering import render


def run(options: Namespace, output: Output) -> Exit:
    """Render a template in memory, write it, and say what to do next. It runs no other program."""
    folder = Path(options.name)
    files = render(options.template, names_of(options.name))
    placed = place(files, folder, force=options.force)
    then = next_steps(folder)
    if output.json:
        output.document("psych.new/1", Project(str(folder), options.template, placed, tuple(then)))
        return Exit.DONE
    output.rows((Row(each.action, str(folder / each.path)) for each in placed), rest="", width=11)
    output.heading("next:")
    output.lines(then)
    return Exit.DONE


def next_steps(folder: Path) -> list[str]:
    """What to type, in this environment: `python` where that is the Python which runs this."""
    found = shutil.which("python")
    ours = found is not None and Path(found).parent == Path(sys.executable).parent
    return [f"cd {quote(str(folder))}", f"{'python' if ours else quote(sys.executable)} main.py"]
