"""The folder that skills are installed in: what stands there, what an install does, and doing it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Any, Literal

from psych_runtime.cli.documents import FileDone
from psych_runtime.cli.exits import CommandError, Exit
from psych_runtime.cli.kit import Files
from psych_runtime.cli.placing import refuse_targets
from psych_runtime.cli.staging import name_new, staging

MANIFEST = ".psych-skills.json"
SCHEMA = "psych.installed-skills/1"

Action = Literal["created", "updated", "replaced", "same", "kept", "removed"]
State = Literal["absent", "current", "outdated", "edited"]
Noted = Mapping[str, str]


def steps(files: Files, noted: Noted, found: Files, *, force: bool = False) -> list[FileDone]:
    """What an install of `files` does, where `found` stands and `noted` was installed before."""
    paths = sorted({*files, *(path for path in noted if path in found)})
    return [FileDone(path, _action(path, files, noted, found, force=force)) for path in paths]


def _action(path: str, files: Files, noted: Noted, found: Files, *, force: bool) -> Action:
    if path not in found:
        return "created"
    is_edited = digest(found[path]) != noted.get(path)
    if path not in files:
        return "kept" if is_edited else "removed"
    if found[path] == files[path]:
        return "same"
    if is_edited:
        return "replaced" if force else "kept"
    return "updated"


def state_of(files: Files, steps: Sequence[FileDone]) -> State:
    """How a skill of these files stands, where an install would take `steps`."""
    actions = {step.action for step in steps if step.path in files}
    if actions == {"created"}:
        return "absent"
    if "kept" in actions:
        return "edited"
    return "current" if actions <= {"same"} else "outdated"


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


class Shelf:
    """The folder DEST. Its manifest says what was installed there; all else there is somebody's own."""

    def __init__(self, dest: Path) -> None:
        self.dest = dest
        self.noted = dict(_noted(dest / MANIFEST))

    def found(self, files: Files) -> Files:
        """What stands there of `files`, and of what was installed. Raises `CommandError` for a way out."""
        paths = sorted({*files, *self.noted})
        if self.dest.exists():
            refuse_targets(self.dest, paths)
        return {path: (self.dest / path).read_bytes() for path in paths if self._stands(path)}

    def carry_out(self, steps: Sequence[FileDone], files: Files) -> None:
        """Write and remove. Cut short, it is finished by another install: the manifest comes last."""
        self.dest.mkdir(parents=True, exist_ok=True)
        manifest = {MANIFEST: _manifest(self._to_note(steps, files))}
        new = {step.path: files[step.path] for step in steps if step.changes and step.path in files}
        with staging(self.dest, {**new, **manifest}) as staged:
            for step in steps:
                self._carry_out(step, staged)
            os.replace(staged / MANIFEST, self.dest / MANIFEST)

    def _carry_out(self, step: FileDone, staged: Path) -> None:
        target = self.dest / step.path
        if step.action == "removed":
            target.unlink()
            _remove_empty(target.parent, self.dest)
        elif step.action == "updated":
            os.replace(staged / step.path, target)
        elif step.changes:
            if step.action == "replaced":
                os.replace(target, target.with_name(f"{target.name}.bak"))
            target.parent.mkdir(parents=True, exist_ok=True)
            name_new(staged / step.path, target)

    def _to_note(self, steps: Sequence[FileDone], files: Files) -> Noted:
        """What is installed then; of an edited file, what it was before."""
        kept = {step.path for step in steps if step.action == "kept"}
        before = {path: self.noted[path] for path in kept if path in self.noted}
        return {**before, **{path: digest(content) for path, content in files.items() if path not in kept}}

    def _stands(self, path: str) -> bool:
        target = self.dest / path
        if target.is_symlink() and not target.resolve().is_relative_to(self.dest.resolve()):
            raise CommandError(f"{target} leads out of {self.dest}", "take that link away", Exit.FAILED)
        return target.is_file()


def _remove_empty(folder: Path, above: Path) -> None:
    while folder != above and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _manifest(noted: Noted) -> bytes:
    files = {path: noted[path] for path in sorted(noted)}
    document = {"schema": SCHEMA, "version": version("psych-runtime"), "files": files}
    return (json.dumps(document, indent=1) + "\n").encode()


def _noted(manifest: Path) -> Iterator[tuple[str, str]]:
    """What a manifest says. Raises `CommandError` for one that is not ours."""
    if not manifest.exists():
        return
    try:
        document: Any = json.loads(manifest.read_bytes())
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}")
        for name, installed in document["files"].items():
            yield str(PurePosixPath(name)), str(installed)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fix = f"rm {quote(str(manifest))}: what stands there then counts as edited"
        raise CommandError(f"{manifest} cannot be used: {error}", fix, Exit.FAILED) from error
