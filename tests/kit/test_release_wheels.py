"""What is wrong with a wheel is found before anybody installs it."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from release_wheels import Distribution, differences, distributions, expected, faults, members
from tests.house import checkout
from tests.house.checkout import ROOT

SQL, OWNER, CONTRACT = (
    next(each for each in distributions(ROOT) if each.name == name)
    for name in ("psych-runtime-sql", "psych-runtime", "psych-runtime-contract")
)
ABOUT = "{0.package}-{0.version}.dist-info/{1}".format


def sound(of: Distribution) -> dict[str, bytes]:
    """A wheel as it should be."""
    project = of.project
    extras = project.get("optional-dependencies", {})
    lines = [
        f"Name: {of.name}",
        f"Version: {of.version}",
        f"Summary: {project['description']}",
        "Requires-Python: >=3.11",
        "License-Expression: Apache-2.0",
        *(f"Requires-Dist: {need}" for need in project["dependencies"]),
        *(f"Requires-Dist: {need}; extra == '{extra}'" for extra, needs in extras.items() for need in needs),
    ]
    groups = {**project.get("entry-points", {}), "console_scripts": project.get("scripts", {})}
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in groups.items()
    ]
    return {
        **expected(of, ROOT),
        ABOUT(of, "METADATA"): "\n".join(lines).encode(),
        ABOUT(of, "entry_points.txt"): "\n".join(points).encode(),
        ABOUT(of, "licenses/LICENSE"): (ROOT / "LICENSE").read_bytes(),
    }


def test_every_distribution_of_the_checkout_is_checked() -> None:
    assert [each.name for each in distributions(ROOT)] == [each.name for each in checkout.distributions()]


@pytest.mark.parametrize("of", distributions(ROOT), ids=lambda of: of.name)
def test_a_wheel_as_it_should_be_has_no_fault(of: Distribution) -> None:
    assert list(faults(sound(of), of, ROOT)) == []


def test_the_command_comes_with_every_template_and_skill() -> None:
    held = expected(OWNER, ROOT)
    for path in (*ROOT.glob("templates/*/pyproject.toml"), *ROOT.glob("templates/*/gitignore")):
        assert f"psych_runtime/_kit/{path.relative_to(ROOT).as_posix()}" in held
    for path in ROOT.glob(".agents/skills/*/SKILL.md"):
        assert f"psych_runtime/_kit/skills/{path.parent.name}/SKILL.md" in held
    assert not [name for name in held if "__pycache__" in name or "/." in name]


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    def take_out(held: dict[str, bytes]) -> None:
        del held[next(each for each in held if each.endswith(name))]

    return take_out


def with_other(name: str, old: str, new: str) -> Callable[[dict[str, bytes]], None]:
    def put(held: dict[str, bytes]) -> None:
        key = next(each for each in held if each.endswith(name))
        assert old.encode() in held[key]
        held[key] = held[key].replace(old.encode(), new.encode())

    return put


def with_more(held: dict[str, bytes]) -> None:
    held["tests/test_it.py"] = b""


@pytest.mark.parametrize(
    ("of", "damage", "says"),
    [
        (SQL, without("py.typed"), "its types are not marked"),
        (SQL, without("0001_pre_runs.sql"), "lacks psych_runtime_sql/migrations/sqlite/0001_pre_runs.sql"),
        (SQL, without("LICENSE"), "its licence is not ours"),
        (SQL, without("METADATA"), "its Name is None"),
        (SQL, with_more, "has tests/test_it.py, which does not belong there"),
        (SQL, with_other("tables.py", "import", "exprot"), "has another psych_runtime_sql/tables.py"),
        (SQL, with_other("METADATA", "Apache-2.0", "MIT"), "its License-Expression is 'MIT'"),
        (SQL, with_other("METADATA", "core==", "core>="), "is not pinned"),
        (SQL, with_other("METADATA", "sqlalchemy", "sqlite-utils"), "it does not need sqlalchemy"),
        (OWNER, without("templates/adapter/README.md"), "lacks psych_runtime/_kit/templates/adapter/README"),
        (OWNER, without("skills/psych/SKILL.md"), "lacks psych_runtime/_kit/skills/psych/SKILL.md"),
        (OWNER, with_other("METADATA", "extra == 'prices'", "extra == 'price'"), "prices"),
        (OWNER, with_other("entry_points.txt", "psych = ", "psyche = "), "no entry point psych"),
        (CONTRACT, without("entry_points.txt"), "no entry point psych_runtime_contract of pytest11"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(
    of: Distribution, damage: Callable[[dict[str, bytes]], None], says: str
) -> None:
    held = sound(of)
    damage(held)
    assert [fault for fault in faults(held, of, ROOT) if says in fault]


def test_what_a_list_of_files_says_does_not_hang_on_its_order(tmp_path: Path) -> None:
    for name, record in (("a", "x,1\ny,2\n"), ("b", "y,2\nx,1\n"), ("c", "x,1\ny,3\n")):
        with zipfile.ZipFile(tmp_path / name, "w") as wheel:
            wheel.writestr("p-1.dist-info/RECORD", record)
    same, also, other = (members(tmp_path / name) for name in "abc")
    assert list(differences(same, also)) == []
    assert list(differences(same, other)) == ["has another p-1.dist-info/RECORD"]
