"""What a wheel must hold, read from the checkout, and what is wrong with one."""

import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from functools import cached_property
from pathlib import Path
from typing import Any

# The distribution that brings what is no code, and where that stands: in its package, in the checkout.
KIT_OWNER = "psych-runtime"
KIT = {"templates": "templates", "skills": ".agents/skills"}

Members = Mapping[str, bytes]


@dataclass(frozen=True)
class Distribution:
    """One of ours, by the folder that it is built from."""

    folder: Path

    @cached_property
    def project(self) -> dict[str, Any]:
        """What its pyproject.toml says of it."""
        project: dict[str, Any] = tomllib.loads((self.folder / "pyproject.toml").read_text())["project"]
        return project

    @property
    def name(self) -> str:
        return str(self.project["name"])

    @property
    def version(self) -> str:
        return str(self.project["version"])

    @property
    def package(self) -> str:
        """What is imported, and what its archives are called by."""
        return self.name.replace("-", "_")

    @property
    def wheel(self) -> str:
        return f"{self.package}-{self.version}-py3-none-any.whl"

    @property
    def sdist(self) -> str:
        return f"{self.package}-{self.version}.tar.gz"


def distributions(root: Path) -> list[Distribution]:
    """All of a checkout."""
    folders = [*sorted(root.glob("packages/*/pyproject.toml")), root / "tests-contract" / "pyproject.toml"]
    return [Distribution(file.parent) for file in folders]


def members(archive: Path) -> dict[str, bytes]:
    """The files of a wheel, by name; the list of them in no order."""
    with zipfile.ZipFile(archive) as wheel:
        held = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    lists = {name for name in held if name.endswith(".dist-info/RECORD")}
    return held | {name: b"".join(sorted(held[name].splitlines(keepends=True))) for name in lists}


def faults(held: Members, of: Distribution, root: Path) -> Iterator[str]:
    """What is wrong with the wheel of a distribution: files, then what it says of itself."""
    about = f"{of.package}-{of.version}.dist-info/"
    content = {name: body for name, body in held.items() if not name.startswith(about)}
    yield from differences(content, expected(of, root))
    if f"{of.package}/py.typed" not in held:
        yield "its types are not marked: py.typed"
    if held.get(f"{about}licenses/LICENSE") != (root / "LICENSE").read_bytes():
        yield "its licence is not ours"
    yield from _misstatements(held.get(f"{about}METADATA", b""), of)
    for group, entries in _entry_points(of).items():
        said = held.get(f"{about}entry_points.txt", b"").decode()
        yield from (
            f"no entry point {name} of {group}"
            for name, value in entries.items()
            if f"{name} = {value}" not in said.partition(f"[{group}]")[2].partition("\n[")[0]
        )


def differences(held: Members, wanted: Members) -> Iterator[str]:
    """The files by which one set is not another."""
    yield from (f"lacks {name}" for name in sorted(wanted.keys() - held.keys()))
    yield from (f"has {name}, which does not belong there" for name in sorted(held.keys() - wanted.keys()))
    common = sorted(held.keys() & wanted.keys())
    yield from (f"has another {name}" for name in common if held[name] != wanted[name])


def expected(of: Distribution, root: Path) -> dict[str, bytes]:
    """Its package, whole: code, SQL, data; and the templates and skills in the one that brings them."""
    content = _files(of.folder / "src" / of.package, of.package)
    if of.name == KIT_OWNER:
        for name, place in KIT.items():
            content |= _files(root / place, f"{of.package}/_kit/{name}")
    return content


def _files(folder: Path, inside: str) -> dict[str, bytes]:
    """What was written by hand under a folder, by its name in a wheel."""
    found: dict[str, bytes] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in name.parts):
            found[f"{inside}/{name.as_posix()}"] = path.read_bytes()
    return found


def _misstatements(metadata: bytes, of: Distribution) -> Iterator[str]:
    said, project = message_from_bytes(metadata), of.project
    for field, wanted in {
        "Name": of.name,
        "Version": of.version,
        "Summary": project["description"],
        "Requires-Python": project["requires-python"],
        "License-Expression": project["license"],
    }.items():
        if said[field] != wanted:
            yield f"its {field} is {said[field]!r}, not {wanted!r}"
    yield from _wrong_needs({_need(line) for line in said.get_all("Requires-Dist", [])}, of)


def _wrong_needs(said: set[tuple[str, str]], of: Distribution) -> Iterator[str]:
    """Each need is a requirement and its extra, empty for one of all."""
    project = of.project
    wanted = {(need, "") for need in project["dependencies"]}
    for extra, needs in project.get("optional-dependencies", {}).items():
        wanted |= {(need, extra) for need in needs}
    for need, extra in sorted(said ^ wanted):
        yield f"it does not need {need} {extra}".rstrip() if (need, extra) in wanted else f"it needs {need}"
    for need, _ in sorted(said):
        if need.startswith("psych-runtime") and not need.endswith(f"=={of.version}"):
            yield f"{need} is not pinned, and an index may have another of that name"


def _need(line: str) -> tuple[str, str]:
    """`a>=1 ; extra == 'b'` as ("a>=1", "b")."""
    need, _, marker = line.partition(";")
    return need.strip(), marker.partition("==")[2].strip(" '\"")


def _entry_points(of: Distribution) -> dict[str, dict[str, str]]:
    groups: dict[str, dict[str, str]] = dict(of.project.get("entry-points", {}))
    scripts: dict[str, str] = of.project.get("scripts", {})
    return {**groups, "console_scripts": scripts} if scripts else groups
