"""Builds every wheel into `dist/` and installs them, from there alone, into empty environments."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bootstrap import ROOT, find_uv

DIST = ROOT / "dist"
UV = find_uv() or "uv"
PROGRAMS = ROOT / "tools" / "release_programs"
DISTRIBUTIONS = [*ROOT.glob("packages/*/pyproject.toml"), ROOT / "tests-contract" / "pyproject.toml"]
PROJECTS = [tomllib.loads(file.read_text())["project"] for file in DISTRIBUTIONS]
VERSION: str = PROJECTS[0]["version"]


class Broken(Exception):
    """What a user of the wheels would have met."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and unless told to stop there install and try; 0 when all of it works."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-only", action="store_true", help="leave the wheels in dist/ and stop")
    options = parser.parse_args(arguments)
    try:
        build()
        if not options.build_only:
            for check in (look_inside, try_bare, try_all):
                check()
                print(f"release: {check.__name__.replace('_', ' ')}: ok", flush=True)
    except Broken as broken:
        print(f"release: {broken}", file=sys.stderr)
        return 1
    return 0


def build() -> None:
    """Every wheel of ours, no older one beside it, and lists of what others wrote: for SQLite, for all."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([UV, "build", "--quiet", "--all-packages", "--wheel", "--out-dir", str(DIST)])
    locked(DIST, ("--extra", "sqlite"))
    locked(DIST, ("--extra", "all"), "locked-all.txt")
    print(f"release: {' '.join(sorted(wheel.name for wheel in DIST.glob('*.whl')))}", flush=True)


def look_inside() -> None:
    """Each wheel holds its package, the marker of its types and the licence; ours holds the templates."""
    for project in PROJECTS:
        package = project["name"].replace("-", "_")
        wheel = DIST / f"{package}-{VERSION}-py3-none-any.whl"
        names = set(zipfile.ZipFile(wheel).namelist())
        need(names, f"{package}/py.typed", wheel)
        need(names, f"{package}-{VERSION}.dist-info/licenses/LICENSE", wheel)
        if package == "psych_runtime":
            for template in ROOT.glob("templates/*/pyproject.toml"):
                need(names, f"psych_runtime/_kit/templates/{template.parent.name}/pyproject.toml", wheel)


def need(names: set[str], name: str, wheel: Path) -> None:
    """Refuse a wheel without this file."""
    if name not in names:
        raise Broken(f"{wheel.name} lacks {name}")


def try_bare() -> None:
    """Without extras the command answers, and each door says what to install."""
    with_environment("psych-runtime", (), "without_extras.py")


def try_all() -> None:
    """With every extra the doors open, and a Run on SQLite is completed."""
    with_environment("psych-runtime[all]", ("--extra", "all"), "with_extras.py")


def with_environment(requirement: str, extras: Sequence[str], program: str) -> None:
    """Install `requirement` into an empty environment and run one of the programs there."""
    with tempfile.TemporaryDirectory(prefix="psych-release-") as name:
        folder = Path(name)
        python = folder / "venv" / "bin" / "python"
        run([UV, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")])
        install(python, requirement, locked(folder, extras))
        run([str(python), "-I", str(PROGRAMS / program)], cwd=folder, path=python.parent)


def locked(folder: Path, extras: Sequence[str], name: str = "locked.txt") -> Path:
    """What others wrote that is needed: the lock's versions, by hash."""
    file = folder / name
    chosen = ["--package", "psych-runtime", *extras, "--no-dev", "--no-emit-workspace"]
    run([UV, "export", "--quiet", "--frozen", *chosen, "--output-file", str(file)])
    return file


def install(python: Path, requirement: str, others: Path) -> None:
    """First what others wrote, without what it depends on, then ours without an index.

    So the index is never asked for a package of ours.
    """
    pip = [UV, "pip", "install", "--quiet", "--python", str(python)]
    run([*pip, "--no-deps", "--require-hashes", "--requirement", str(others)])
    # A cache finds a wheel by its version, and ours is built anew under the same one.
    run([*pip, "--no-cache", "--no-index", "--find-links", str(DIST), f"{requirement}=={VERSION}"])
    run([UV, "pip", "check", "--quiet", "--python", str(python)])


def run(command: Sequence[str], cwd: Path = ROOT, path: Path | None = None) -> None:
    """Run one program to its end; what it said is the reason when it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment.get('PATH', '')}"
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
