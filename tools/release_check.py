"""Builds every wheel and sdist into `dist/`, and installs them, from there alone, into empty environments."""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bootstrap import ROOT, find_uv
from release_wheels import KIT_OWNER, differences, distributions, faults, members

DIST = ROOT / "dist"
UV = find_uv() or "uv"
PROGRAMS = ROOT / "tools" / "release_programs"
DISTRIBUTIONS = distributions(ROOT)
OWNER = next(each for each in DISTRIBUTIONS if each.name == KIT_OWNER)
# What would lead a program elsewhere.
HIDING = {"VIRTUAL_ENV", "PYTHONPATH", "PSYCH_STORE_URL", "PSYCH_MODEL", "PSYCH_BASE_URL", "OPENAI_API_KEY"}
EXTRAS = sorted(set(OWNER.project["optional-dependencies"]) - {"all"})
TEMPLATES = sorted(path.parent.name for path in ROOT.glob("templates/*/pyproject.toml"))
# A `pip` that asks an index for nothing but what is named by hash: one of the name of ours is a stranger's.
PIP = """#!/bin/sh
case "$*" in
*--require-hashes*) reach= ;;
*--no-index*) reach=--no-cache ;;
*) reach=--offline ;;
esac
exec "{uv}" pip "$@" $reach --python "{python}"
"""


class Broken(Exception):
    """What a user of the wheels would have met."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and unless told to stop there look inside and try; 0 when all of it works."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-only", action="store_true", help="leave the archives in dist/ and stop")
    options = parser.parse_args(arguments)
    try:
        build()
        if not options.build_only:
            check_all()
    except Broken as broken:
        print(f"release: {broken}", file=sys.stderr)
        return 1
    return 0


def build() -> None:
    """Every archive of ours, no older one beside it, and lists of what others wrote: for SQLite, for all."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([UV, "build", "--quiet", "--all-packages", "--sdist", "--wheel", "--out-dir", str(DIST)])
    locked(DIST, ("sqlite",))
    locked(DIST, ("all",), "locked-all.txt")
    print(f"release: {' '.join(sorted(path.name for path in DIST.glob('psych*')))}", flush=True)


def check_all() -> None:
    """Each check, as many at once as there are cores; of the long ones the longest first. Raises `Broken`."""
    checks: list[tuple[str, Callable[[], None]]] = [
        ("inside the wheels", look_inside),
        *((f"the README of {template}", partial(try_readme, template)) for template in TEMPLATES),
        ("with every extra", try_all),
        ("with none", try_bare),
        *((f"with {extra} alone", partial(try_alone, extra)) for extra in EXTRAS),
        ("from sdist to wheel", rebuild),
    ]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        for name, seconds in threads.map(carry_out, *zip(*checks, strict=True)):
            print(f"release: {name}: ok, {seconds:.1f} s", flush=True)


def carry_out(name: str, check: Callable[[], None]) -> tuple[str, float]:
    """Make one check; its name, and the seconds that it took."""
    began = time.monotonic()
    try:
        check()
    except Broken as broken:
        raise Broken(f"{name}: {broken}") from broken
    return name, time.monotonic() - began


# --- archives -------------------------------------------------------------------------------------------


def look_inside() -> None:
    """Each wheel holds its package whole, and says of itself what its pyproject.toml says."""
    for each in DISTRIBUTIONS:
        if found := list(faults(members(DIST / each.wheel), each, ROOT)):
            raise Broken(f"{each.wheel}: {'; '.join(found)}")


def rebuild() -> None:
    """A wheel that is made of an sdist is the one that is made of the checkout."""
    with tempfile.TemporaryDirectory(prefix="psych-sdist-") as folder:
        for each in DISTRIBUTIONS:
            with tarfile.open(DIST / each.sdist) as sdist:
                sdist.extractall(folder, filter="data")
            unpacked = Path(folder) / each.sdist.removesuffix(".tar.gz")
            run([UV, "build", "--quiet", "--wheel", "--out-dir", folder, str(unpacked)])
            made = members(Path(folder) / each.wheel)
            if found := list(differences(made, members(DIST / each.wheel))):
                raise Broken(f"{each.sdist} makes another wheel: it {'; '.join(found)}")


# --- environments ---------------------------------------------------------------------------------------


def try_bare() -> None:
    """Without extras the library loads nothing that is not used, and the command answers."""
    with environment() as here:
        here.run_program("doors.py")
        here.run_program("without_extras.py")


def try_alone(extra: str) -> None:
    """One extra opens its door, and no other; what judges an adapter needs no more than itself."""
    with environment(extra) as here:
        here.run_program("doors.py", extra)
        if extra == "testing":
            here.run_program("suites.py")


def try_all() -> None:
    """With every extra each door opens, and Runs are kept."""
    with environment("all") as here:
        here.run_program("doors.py", *EXTRAS)
        here.run_program("with_extras.py")


def try_readme(template: str) -> None:
    """Whoever follows a project's README from nothing has it installed, and sees what it says."""
    with empty() as here:
        # What an index would give for the project's tools.
        here.install_locked(exported(here.folder / "tools.txt", "--only-dev"))
        pip = here.bin / "pip"
        pip.write_text(PIP.format(uv=UV, python=here.bin / "python"))
        pip.chmod(0o755)
        run([sys.executable, "-m", "psych_runtime", "new", "order-desk", "--template", template], here.folder)
        project = here.folder / "order-desk"
        run([sys.executable, "-m", "tests.kit.readme", str(project), str(here.bin), str(DIST)])
        here.check()


@dataclass(frozen=True)
class Environment:
    """Where nothing is installed but what was asked for."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "venv" / "bin"

    def run(self, name: str, *arguments: str) -> None:
        """Run a program of the environment, in its folder."""
        run([str(self.bin / name), *arguments], cwd=self.folder, path=self.bin)

    def run_program(self, name: str, *arguments: str) -> None:
        """Run one of ours in it."""
        self.run("python", "-I", str(PROGRAMS / name), *arguments)

    def install(self, *wanted: str) -> None:
        """Install from `dist/`: no index is asked for a package of ours."""
        # A cache finds a wheel by its version, and ours is built anew under the same one.
        self._pip("install", "--no-cache", "--no-index", "--find-links", str(DIST), *wanted)

    def install_locked(self, others: Path) -> None:
        """Install what others wrote, by hash and without what it depends on."""
        self._pip("install", "--no-deps", "--require-hashes", "--requirement", str(others))

    def check(self) -> None:
        """Refuse an environment in which something lacks what it needs."""
        self._pip("check")

    def _pip(self, verb: str, *arguments: str) -> None:
        run([UV, "pip", verb, "--quiet", "--python", str(self.bin / "python"), *arguments])


@contextmanager
def empty() -> Generator[Environment]:
    """An environment with nothing in it."""
    with tempfile.TemporaryDirectory(prefix="psych-release-") as name:
        here = Environment(Path(name))
        run([UV, "venv", "--quiet", "--python", sys.executable, str(here.folder / "venv")])
        yield here


@contextmanager
def environment(*extras: str) -> Generator[Environment]:
    """An environment with `psych-runtime` and these extras alone."""
    with empty() as here:
        here.install_locked(locked(here.folder, extras))
        chosen = f"[{','.join(extras)}]" if extras else ""
        here.install(f"{OWNER.name}{chosen}=={OWNER.version}")
        here.check()
        yield here


def locked(folder: Path, extras: Sequence[str], name: str = "locked.txt") -> Path:
    """What others wrote that `psych-runtime` needs with these extras."""
    chosen = ["--package", OWNER.name, *(word for extra in extras for word in ("--extra", extra))]
    return exported(folder / name, "--no-dev", *chosen)


def exported(file: Path, *chosen: str) -> Path:
    """The lock's versions of what others wrote, by hash."""
    run([UV, "export", "--quiet", "--frozen", "--no-emit-workspace", "--output-file", str(file), *chosen])
    return file


def run(command: Sequence[str], cwd: Path = ROOT, path: Path | None = None) -> None:
    """Run one program to its end; what it said is the reason when it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in HIDING}
    if path is not None:
        kept["PATH"] = f"{path}{os.pathsep}{kept.get('PATH', '')}"
    done = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
