"""Drives Runs through a real LiteLLM proxy, which stands in an environment of its own: `.chaos`."""

import hashlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from bootstrap import ROOT, Missing, find_uv, install_uv, run

TESTS = ROOT / "tests" / "chaos"
REQUIREMENTS = TESTS / "requirements.txt"
HOME = ROOT / ".chaos"
STAMP = HOME / ".made"
# The proxy alone takes up to a minute to start on a busy machine, in the first test.
PATIENCE = ("--timeout", "300", "-o", "faulthandler_timeout=0")


def main(arguments: Sequence[str] = ()) -> NoReturn:
    """Make `.chaos` if need be, then become its tests; `arguments` are pytest's."""
    try:
        setup()
    except Missing as missing:
        sys.exit(f"chaos: {missing}")
    os.chdir(ROOT)
    command = [sys.executable, "-m", "pytest", "--no-header", *PATIENCE, str(TESTS), *arguments]
    os.execv(sys.executable, command)


def setup() -> None:
    """The proxy's environment, anew when its requirements or this interpreter changed."""
    wanted = hashlib.sha256(sys.version.encode() + REQUIREMENTS.read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return
    uv = find_uv() or install_uv()
    print("chaos: making .chaos, some 700 MB", flush=True)
    run(
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(HOME)],
        "the environment of the proxy could not be made",
    )
    run(install(uv), "the packages of the proxy could not be installed; is the index reachable?")
    STAMP.write_text(wanted)


def install(uv: str) -> list[str]:
    """What is listed and nothing it depends on, by hash, and no code of a package runs meanwhile."""
    to = ("--python", str(HOME / "bin" / "python"), "--requirement", str(REQUIREMENTS))
    sure = ("--no-deps", "--require-hashes", "--only-binary", ":all:")
    return [uv, "pip", "install", "--quiet", "--compile-bytecode", *sure, *to]


if __name__ == "__main__":
    main(sys.argv[1:])
