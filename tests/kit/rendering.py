"""A template, rendered and installed for the tests of one process."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bootstrap import find_uv
from tests.kit.command import BIN, Ended, run

NAME = "order_desk"
# What running it leaves behind.
MADE = {".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__"}


@dataclass(frozen=True)
class Rendered:
    """A project, in the folder of its name, and where it is installed beside what `.venv` has."""

    project: Path
    site: Path

    def run(self, command: str, **settings: str) -> Ended:
        """Run a line of shell in the project."""
        # It may be all of the project's tests, or a type checker that has seen nothing yet.
        return run(command, cwd=self.project, env={"PYTHONPATH": str(self.site), **settings}, seconds=110)

    def texts(self) -> Iterator[Path]:
        """What was rendered, and nothing that running it has made."""
        for path in self.project.rglob("*"):
            if path.is_file() and not MADE & set(path.parts) and ".db" not in path.name:
                yield path


def rendered(template: str, folder: Path) -> Rendered:
    """Render `template`, build what it is, and install that without what it needs: `.venv` has it."""
    assert run([str(BIN / "psych"), "new", NAME, "--template", template], cwd=folder).code == 0
    uv = find_uv() or "uv"
    built = run(f"{uv} build --offline --wheel --out-dir dist {NAME}", cwd=folder)
    assert built.code == 0, built.err
    placed = f"--target site --python {BIN / 'python'}"
    installed = run(f"{uv} pip install --offline --no-index --no-deps {placed} dist/*.whl", cwd=folder)
    assert installed.code == 0, installed.err
    return Rendered(folder / NAME, folder / "site")
