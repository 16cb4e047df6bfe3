"""`psych skills install`: writes the skills into a folder, and keeps what was edited there."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from psych_runtime.cli.documents import Skills
from psych_runtime.cli.exits import Exit
from psych_runtime.cli.output import Output
from psych_runtime.cli.shelf import Shelf, steps
from psych_runtime.cli.skill_set import shipped
from psych_runtime.cli.skills_list import standing
from psych_runtime.cli.tables import Table


def run(options: Namespace, output: Output) -> Exit:
    """Install, or only say what an install would do."""
    shelf, skills = Shelf(Path(options.dest)), shipped()
    files = {path: content for skill in skills for path, content in skill.files.items()}
    todo = steps(files, shelf.noted, shelf.found(files), force=options.force)
    if not options.check:
        shelf.carry_out(todo, files)
    if output.json:
        listed = tuple(standing(Shelf(shelf.dest), skills))
        output.document("psych.skills/1", Skills(str(shelf.dest), listed, tuple(todo)))
    else:
        Table(output).add((each.action, str(shelf.dest / each.path)) for each in todo)
    if any(step.action == "kept" for step in todo):
        output.hint("what was edited is kept; --force moves it to NAME.bak and writes ours")
    return Exit.FOUND if options.check and any(step.changes for step in todo) else Exit.DONE
