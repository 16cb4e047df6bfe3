"""Which distributions are installed, and whether they belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import NamedTuple

from psych_runtime.cli.checkup.titles import fail, ok
from psych_runtime.cli.documents import Check
from psych_runtime_core.errors import MissingExtra

OURS = "psych-runtime"
CORE = "psych-runtime-core"

_REQUIREMENT = re.compile(
    r"""(?P<name>[\w.-]+) (?:\[[^]]*\])? \s*
        (?P<versions>[^;]*)
        (?: ;.* extra\s*==\s*['"](?P<extra>[\w-]+)['"] )?""",
    re.VERBOSE,
)
# By extra; what everybody needs stands under none. The first module is looked for, and then all are loaded.
_DRIVERS: Mapping[str, tuple[str, ...]] = {
    "": ("httpx2", "anyio", "pydantic"),
    "sqlite": ("sqlalchemy", "psych_runtime.store.sqlite"),
    "prices": ("genai_prices",),
    "testing": ("pytest", "hypothesis", "psych_runtime_contract.plugin"),
}


class Requirement(NamedTuple):
    """A line of a distribution's metadata. `pinned` is the one version that will do, where there is one."""

    name: str
    pinned: str | None
    extra: str | None


def versions() -> Check:
    """Each of ours pins the others to its own number; one that pins nothing is somebody else's."""
    ours = distribution(OURS)
    if not any(each.name == CORE and each.pinned == ours.version for each in requirements(ours)):
        stranger = f"{OURS} {ours.version} is not this project's: it does not need {CORE}"
        return fail("versions", stranger, f"pip uninstall {OURS}, and install our wheels: make wheels")
    others = sorted(
        {f"{name} {found}" for name, wanted, found in _siblings(ours) if found not in {None, wanted}}
    )
    if others:
        mixed = f"{OURS} is {ours.version}, and beside it stand {', '.join(others)}"
        return fail("versions", mixed, "pip install of one release of all of them, from wheels of ours alone")
    here = sorted({name for name, _, found in _siblings(ours) if found})
    return ok("versions", f"{ours.version}: {', '.join([OURS, *here])}")


def extras() -> Check:
    """Which extras are here with all that they need, and the command that brings the others."""
    ours = distribution(OURS)
    wanted = [each for each in requirements(ours) if each.extra and each.extra != "all"]
    absent = sorted({each.extra or "" for each in wanted if not _is_whole(each.name)})
    present = sorted({each.extra or "" for each in wanted} - set(absent))
    detail = f"here: {', '.join(present) or 'none'}; absent: {', '.join(absent) or 'none'}"
    return ok("extras", detail, MissingExtra(OURS, ",".join(absent)).command if absent else None)


def drivers() -> Check:
    """What an extra brought must load; what it did not bring is absent, and no fault."""
    told = {extra: [_loaded(module) for module in modules] for extra, modules in _DRIVERS.items()}
    broken = [state for states in told.values() for state in states if "broken" in state]
    if broken:
        return fail("drivers", "; ".join(broken), "pip install --force-reinstall of what is named there")
    return ok("drivers", "; ".join(state for states in told.values() for state in states))


def requirements(of: Distribution) -> Iterator[Requirement]:
    """What a distribution says it needs."""
    for line in of.requires or ():
        if found := _REQUIREMENT.match(line):
            pinned = re.fullmatch(r"\(?==([^,)]+)\)?", found["versions"].strip())
            yield Requirement(_normal(found["name"]), pinned[1] if pinned else None, found["extra"])


def _siblings(of: Distribution) -> Iterator[tuple[str, str | None, str | None]]:
    """Each of ours that is needed, at whatever depth, with the version wanted and the one found."""
    for each in requirements(of):
        if each.name.startswith(f"{OURS}-"):
            yield each.name, each.pinned, _version(each.name)
            if _version(each.name) is not None:
                yield from _siblings(distribution(each.name))


def _is_whole(name: str) -> bool:
    """Whether a distribution is here, and, of ours, what it needs: `pip --no-deps` brings one alone."""
    if _version(name) is None:
        return False
    if not name.startswith(f"{OURS}-"):
        return True
    return all(_is_whole(each.name) for each in requirements(distribution(name)) if each.extra is None)


def _loaded(module: str) -> str:
    """How it goes to load a module."""
    top = module.partition(".")[0]
    try:
        loaded = import_module(module)
    except MissingExtra:
        return f"{module} absent"
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == top:
            return f"{module} absent"
        return f"{module} is broken: {type(error).__name__}: {error}"
    version = _version(top) or getattr(loaded, "__version__", "")
    return f"{module} {version}".strip() if top == module else f"{module} loads"


def _version(name: str) -> str | None:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
