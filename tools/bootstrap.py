"""Makes `.venv` from `uv.lock`. Needs Python >= 3.11 and pip; a second call with nothing new is a no-op."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
STAMP = ROOT / ".venv" / ".bootstrapped"
OLDEST_PYTHON = (3, 11)
OLDEST_UV = (0, 13)
PINNED_UV = "0.13.9"
SYNC = ("sync", "--frozen", "--all-packages", "--all-extras", "--all-groups")


class Missing(Exception):
    """Something this machine lacks, and the command that brings it."""


def main() -> int:
    """Make or refresh `.venv`; 0 when it stands, 1 with a message when something is missing."""
    try:
        setup()
    except Missing as missing:
        print(f"setup: {missing}", file=sys.stderr)
        return 1
    return 0


def setup() -> None:
    """Sync `.venv` unless its stamp says that it was made from these very files by this interpreter."""
    if sys.version_info < OLDEST_PYTHON:
        raise Missing(f"Python {sys.version.split()[0]} is too old\ntry: make setup PYTHON=python3.11")
    wanted = stamp()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return
    uv = find_uv() or install_uv()
    print("setup: making .venv", flush=True)
    run(
        [uv, *SYNC, "--python", sys.executable],
        "the packages of uv.lock could not be installed; is the index reachable?",
    )
    STAMP.write_text(wanted)


def stamp() -> str:
    """A digest of all that decides what `.venv` holds: the lock, the distributions, the interpreter."""
    digest = hashlib.sha256(f"{sys.version}\n{sys.base_prefix}\n".encode())
    for file in [ROOT / "uv.lock", *sorted(ROOT.glob("packages/*/pyproject.toml"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def find_uv() -> str | None:
    """The first uv that is new enough: ours in `.tools`, else the one on PATH."""
    for candidate in (str(TOOLS / "bin" / "uv"), shutil.which("uv")):
        if candidate and version_of(candidate) >= OLDEST_UV:
            return candidate
    return None


def version_of(uv: str) -> tuple[int, ...]:
    """(major, minor) of a uv program, `()` when it does not answer."""
    try:
        said = subprocess.run([uv, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    found = re.search(r"(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else ()


def install_uv() -> str:
    """Put the pinned uv into `.tools` with this interpreter's pip."""
    if importlib.util.find_spec("pip") is None:
        raise Missing("neither uv nor pip is here\ntry: apt-get install python3-pip")
    print(f"setup: installing uv {PINNED_UV} into .tools", flush=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--root-user-action=ignore",
    ]
    run(
        [*pip, "--upgrade", "--target", str(TOOLS), f"uv=={PINNED_UV}"],
        "pip could not install uv; is the index reachable?",
    )
    return str(TOOLS / "bin" / "uv")


def run(command: list[str], failure: str) -> None:
    """Run one program in the root, with no environment of the caller's leaking into `.venv`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"}
    }
    # A downloaded interpreter would be another one than the stamp names.
    environment = {**kept, "UV_PYTHON_DOWNLOADS": "never"}
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        raise Missing(f"{failure}\ntry: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
