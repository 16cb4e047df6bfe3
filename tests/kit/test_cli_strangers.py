"""A store of somebody else's, installed beside ours: the command works with it, or says why not."""

from pathlib import Path

import pytest

from tests.kit.command import PSYCH, Ended, Psych, run
from tests.kit.logs import family, put_blob, store, url_of, whole

# It keeps its Runs in a file of ours, and is told nothing but by its URL.
ADAPTER = """
from contextlib import asynccontextmanager
from urllib.parse import urlsplit
import psych_runtime

@asynccontextmanager
async def opened(url, *, migrate, read_only, codec, clock):
    assert urlsplit(url).password == "s3cret"
    path = urlsplit(url).path[1:]
    ours = psych_runtime.open_store(
        f"sqlite:///{path}", migrate=migrate, read_only=read_only, codec=codec, clock=clock
    )
    async with ours as store:
        yield store
"""
ADDRESS = "attic://ada:s3cret@host"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed things, with nothing in it yet, beside a store with Runs."""
    family(url_of(tmp_path))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "attic_store.py").write_text(ADAPTER)
    return tmp_path / "site"


def install(site: Path, name: str, scheme: str = "attic") -> None:
    """Install a distribution that claims a scheme."""
    home = site / f"{name}-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    claim = f"[psych_runtime.stores]\n{scheme} = attic_store:opened\n"
    (home / "entry_points.txt").write_text(claim)


def psych(site: Path, *arguments: str) -> Ended:
    return run([PSYCH, *arguments], env={"PYTHONPATH": str(site)}, cwd=site.parent)


@pytest.mark.parametrize(
    "verb",
    [["runs"], ["show", "run_root"], ["stats"], ["migrate"], ["log", "verify", "--all"], ["doctor"]],
    ids=" ".join,
)
def test_every_verb_works_with_it(site: Path, verb: list[str]) -> None:
    install(site, "attic")
    ended = psych(site, *verb, "--store", f"{ADDRESS}/runs.db")
    assert ended.code == 0, ended.err
    assert "s3cret" not in ended.out + ended.err


def test_the_hint_for_more_hides_its_password(site: Path) -> None:
    install(site, "attic")
    ended = psych(site, "runs", "--limit", "1", "--store", f"{ADDRESS}/runs.db")
    assert "attic://ada:***@host/runs.db" in ended.err
    assert "s3cret" not in ended.out + ended.err


def test_without_it_its_scheme_is_unknown(site: Path) -> None:
    ended = psych(site, "runs", "--store", f"{ADDRESS}/runs.db")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "psych: no store is known for 'attic'; known schemes: memory, sqlite",
        "try: --store sqlite:///runs.db",
    ]


def test_a_scheme_that_two_claim_is_nobody_s_and_both_are_named(site: Path) -> None:
    install(site, "attic")
    install(site, "cellar")
    ended = psych(site, "runs", "--store", f"{ADDRESS}/runs.db")
    assert (ended.code, ended.out) == (2, "")
    wrong, fix = ended.err.splitlines()
    assert wrong == "psych: no store is known for 'attic'; known schemes: memory, sqlite"
    assert fix == "try: uninstall all but one of those that claim 'attic': attic, cellar"


def test_a_scheme_of_ours_is_overridden_by_nobody(site: Path) -> None:
    install(site, "attic", "sqlite")
    ended = psych(site, "runs", "--store", "sqlite:///runs.db")
    assert (ended.code, len(ended.out.splitlines())) == (0, 4)


@pytest.mark.parametrize("has_blobs", [False, True], ids=["a store without blobs", "its blobs elsewhere"])
def test_blobs_that_a_store_does_not_keep_are_said_to_be_missing(
    psych: Psych, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_blobs: bool
) -> None:
    def none(_store: object) -> None:
        return None

    url, path = url_of(tmp_path), tmp_path / "run.jsonl"
    store(url, whole(), headers={"run_test": {"blobs": True}})
    export = ("log", "export", "run_test", "--store", url)
    missing = "without its blobs, which this store does not keep"
    if not has_blobs:
        monkeypatch.setattr("psych_runtime.cli.log_export.blobs_of", none)
    assert psych(*export).err == f"psych: run_test comes {missing}\n"
    assert psych(*export, "-o", str(path)).out.endswith(f"run_test  {missing}\n")
    (told,) = psych(*export, "-o", str(path), "--json").document()["files"]
    assert (told["action"], told["lacks_blobs"]) == ("same", True)
    put_blob(url, "run_test")
    assert bool(psych(*export).err) is not has_blobs
