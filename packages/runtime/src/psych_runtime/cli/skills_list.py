"""`psych skills list`: the skills that there are, and how they stand in a folder."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from psych_runtime.cli.documents import SkillListed, Skills
from psych_runtime.cli.exits import Exit
from psych_runtime.cli.output import Output
from psych_runtime.cli.shelf import Shelf, state_of, steps
from psych_runtime.cli.skill_set import Skill, shipped
from psych_runtime.cli.tables import Table


def run(options: Namespace, output: Output) -> Exit:
    """Look, and print."""
    dest, skills = Path(options.dest), shipped()
    listed = list(standing(Shelf(dest), skills))
    if output.json:
        output.document("psych.skills/1", Skills(str(dest), tuple(listed)))
    else:
        rows = zip(listed, skills, strict=True)
        Table(output, states=1).add((each.name, each.state, skill.first_sentence) for each, skill in rows)
    return Exit.DONE


def standing(shelf: Shelf, skills: list[Skill]) -> Iterator[SkillListed]:
    """Each skill, with how it stands there."""
    for skill in skills:
        todo = steps(skill.files, shelf.noted, shelf.found(skill.files))
        yield SkillListed(skill.name, skill.description, state_of(skill.files, todo))
