"""One number for all distributions, and one way in to each adapter."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from tests.house.checkout import ROOT, Distribution, adapters, distribution, distributions, files, version

EVERY = pytest.mark.parametrize("each", [pytest.param(each, id=each.folder) for each in distributions()])
ADAPTERS = pytest.mark.parametrize("adapter", [pytest.param(each, id=each.folder) for each in adapters()])


@EVERY
def test_all_distributions_have_one_version(each: Distribution) -> None:
    assert each.project["version"] == version()
    assert metadata.version(each.name) == version(), "the environment is stale: make setup"


@EVERY
def test_siblings_are_pinned_to_that_version(each: Distribution) -> None:
    siblings = [need for need in each.requirements() if need.startswith("psych-runtime")]
    assert all(need.endswith(f"=={version()}") for need in siblings)
    assert {need.partition("==")[0] for need in siblings} <= {known.name for known in distributions()}


@EVERY
def test_siblings_come_from_the_workspace(each: Distribution) -> None:
    siblings = {need.partition("==")[0] for need in each.requirements() if need.startswith("psych-runtime")}
    expected = {name: {"workspace": True} for name in siblings}
    assert each.settings.get("tool", {}).get("uv", {}).get("sources", {}) == expected


@EVERY
def test_a_distribution_is_laid_out_like_the_others(each: Distribution) -> None:
    folder = each.path
    assert each.project["requires-python"] == ">=3.11"
    assert each.project["license"] == "Apache-2.0"
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert (folder / "src" / each.package / "py.typed").is_file()
    assert [path.name for path in (folder / "src").iterdir() if path.name.startswith("psych")] == [
        each.package
    ]
    backend = "hatchling.build" if each.name == "psych-runtime" else "uv_build"
    assert each.settings["build-system"]["build-backend"] == backend


def test_the_changelog_has_the_version() -> None:
    assert f"## [{version()}]" in (ROOT / "CHANGELOG.md").read_text()


@ADAPTERS
def test_an_adapter_has_its_extra(adapter: Distribution) -> None:
    extras = distribution("psych-runtime").extras
    pin = f"{adapter.name}=={version()}"
    assert extras[adapter.folder] == [pin]
    assert pin in extras["all"]


@ADAPTERS
def test_an_adapter_has_its_door(adapter: Distribution) -> None:
    assert door_of(adapter).is_file()
    assert f'door("{adapter.package}", extra="{adapter.folder}")' in door_of(adapter).read_text()


def door_of(adapter: Distribution) -> Path:
    """Stores stand in `psych_runtime.store`, all else in `psych_runtime` itself."""
    package = ROOT / "packages/runtime/src/psych_runtime"
    in_store = package / "store" / f"{adapter.folder}.py"
    return in_store if in_store.is_file() else package / f"{adapter.folder}.py"


def test_every_install_that_a_reader_copies_is_pinned() -> None:
    documents = [path for path in files() if path.suffix in {".md", ".toml"} and path.name != "uv.lock"]
    lines = [line for path in documents for line in (ROOT / path).read_text().splitlines()]
    installs = [line for line in lines if re.search(r"pip install .*psych-runtime", line)]
    loose = [line for line in installs if f"=={version()}" not in line]
    assert not loose, "a package of that name on the public index is not ours: pin it"


def test_templates_need_this_very_version() -> None:
    projects = [path for path in files() if path.parts[0] == "templates" and path.name == "pyproject.toml"]
    needs = [re.findall(r'"psych-runtime[^"]*"', (ROOT / path).read_text()) for path in projects]
    assert all(each and all(need.endswith(f'=={version()}"') for need in each) for each in needs)
