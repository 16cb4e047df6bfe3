"""`psych stats` and `psych migrate`: how a store does, and how it is brought up to date."""

import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import psych_runtime
from psych_runtime import InMemoryStore, MigrationReport, Scope, StoreStats, TenantStats
from psych_runtime.testing import LogBuilder
from tests.kit.command import PSYCH, Psych, environment
from tests.kit.logs import ACME, dump, store, url_of
from tests.kit.shop import Shop


def opens(monkeypatch: pytest.MonkeyPatch, kept: object) -> None:
    """Let every URL be that of `kept`."""

    @asynccontextmanager
    async def opened(url: str, **given: Any) -> AsyncGenerator[object]:
        yield kept

    monkeypatch.setattr(psych_runtime, "open_store", opened)


# --- stats -----------------------------------------------------------------------------------------------


def test_open_runs_are_counted(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    queued = [LogBuilder(f"run_{number}", scope=ACME).admitted() for number in range(3)]
    store(url, *queued, LogBuilder("run_rival", scope=Scope(tenant="rival")).admitted())
    shown = psych("stats", "--store", url).out
    totals, tenants = shown.split("\n\ntenants with ready work\n")
    assert ["ready", "4"] in [line.split() for line in totals.splitlines()]
    rows = [line.split() for line in tenants.splitlines()]
    assert rows[0] == ["tenant", "ready", "running", "suspended", "oldest", "ready"]
    assert [row[:2] for row in rows[1:]] == [["acme", "3"], ["rival", "1"]]
    assert ["ready", "1"] in [
        line.split() for line in psych("stats", "--store", url, "--tenant", "rival").out.splitlines()
    ]
    by_tenant = psych("stats", "--store", url, "--by", "tenant").out
    assert [line.split()[:4] for line in by_tenant.splitlines()] == [row[:4] for row in rows]
    assert "tenant" not in psych("stats", "--store", url, "--by", "state").out
    idle = psych("stats", "--store", url, "--tenant", "nobody", "--by", "tenant")
    assert (idle.out, idle.err) == ("", "psych: no ready work\n")


def test_the_document_has_every_field(psych: Psych, shop: Shop) -> None:
    document = psych("stats", "--store", shop.url, "--json").document()
    assert document.keys() - {"schema"} == set(StoreStats.model_fields)
    assert (document["ready"], document["suspended"], document["oldest_ready_seconds"]) == (0, 1, None)


def test_a_document_has_both_tables_or_none_is_asked_for(psych: Psych, shop: Shop) -> None:
    ended = psych("stats", "--store", shop.url, "--by", "tenant", "--json")
    assert (ended.code, ended.out, ended.error()["fix"]) == (2, "", "psych stats --json")


def test_a_count_that_stopped_says_so(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    class Capped(InMemoryStore):
        async def stats(self, *, tenant: str | None = None, top: int = 20) -> StoreStats:
            hostile = TenantStats(
                tenant="x\u202e", ready=10_000, running=0, suspended=0, oldest_ready_seconds=1.25
            )
            found = await super().stats()
            return found.model_copy(update={"capped": True, "ready": 10_000, "tenants": (hostile,)})

    opens(monkeypatch, Capped())
    shown = psych("stats", "--store", "far://away").out
    assert "capped           a count stopped at its bound: there are more" in shown
    assert "x\\u202e  10000" in shown
    assert "1.2 s" in shown


# --- migrate ---------------------------------------------------------------------------------------------


def test_a_new_store_is_made_and_a_second_time_changes_nothing(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    looked = psych("migrate", "--store", url, "--check", "--json")
    pending = looked.document()["pending"]
    assert (looked.code, looked.document()["to"]) == (3, 0)
    assert pending[0] == "0001_pre_runs"
    assert psych("migrate", "--store", url, "--plan").code == 0
    assert not list(tmp_path.iterdir()), "looking made a file"
    made = psych("migrate", "--store", url, "--json").document()
    assert (made["from"], made["applied"], made["pending"]) == (0, pending, [])
    before = dump(tmp_path / "runs.db")
    again = psych("migrate", "--store", url)
    level = f"{made['to']} to {made['to']}"
    assert (again.code, again.out) == (0, f"level       {level}\npending     nothing is pending\n")
    assert dump(tmp_path / "runs.db") == before
    assert psych("migrate", "--store", url, "--check").code == 0


def test_eight_at_once_all_succeed(tmp_path: Path) -> None:
    command = [PSYCH, "migrate", "--store", url_of(tmp_path), "--timeout", "60"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment()}
    together = [subprocess.Popen(command, **pipes) for _ in range(8)]
    told = [(process.communicate(timeout=100), process.returncode) for process in together]
    assert [code for _, code in told] == [0] * 8, told
    applied = [line.split()[1] for (out, _), _ in told for line in out.splitlines() if "applied" in line]
    assert sorted(applied) == sorted(set(applied)), "each was applied once"
    assert "0001_pre_runs" in applied


def test_a_store_without_migrations_says_so(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    opens(monkeypatch, InMemoryStore())
    ended = psych("migrate", "--store", "far://away", "--check")
    assert (ended.code, ended.out) == (0, "level       none: this store has no migrations\n")


@pytest.mark.parametrize(
    ("phase", "pending", "code"),
    [
        pytest.param("pre", ("0002_pre_b", "0003_post_c"), 3, id="pre is due"),
        pytest.param("pre", ("0003_post_c",), 0, id="post is not due before"),
        pytest.param("post", ("0003_post_c",), 3, id="post is due then"),
    ],
)
def test_what_a_phase_leaves_is_not_due(
    psych: Psych, monkeypatch: pytest.MonkeyPatch, phase: str, pending: tuple[str, ...], code: int
) -> None:
    class Behind(InMemoryStore):
        async def migrate(self, phase: str = "pre", *, plan: bool = False) -> MigrationReport:
            assert plan, "a check changes nothing"
            return MigrationReport(1, 1, (), pending)

    opens(monkeypatch, Behind())
    ended = psych("migrate", "--store", "far://away", "--check", "--phase", phase)
    assert ended.code == code
    assert [line.split()[1] for line in ended.out.splitlines()[1:]] == list(pending)
    assert ("psych migrate --phase post" in ended.err) == (pending == ("0003_post_c",))


def test_the_names_of_migrations_say_their_phase() -> None:
    names = ("0001_pre_posts", "0002_post_x", "0004_pre_drop_post_ids")
    report = MigrationReport(0, 0, (), names)
    assert report.due("pre") == ("0001_pre_posts", "0004_pre_drop_post_ids")
    assert report.due("post") == names


def test_a_store_of_another_schema_is_told_with_the_cure(psych: Psych, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for verb in (["runs"], ["stats"], ["show", "run_1"], ["log", "verify", "--all"]):
        ended = psych(*verb, "--store", url_of(tmp_path, "empty.db"))
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.splitlines()[1] == "try: psych migrate, which brings the store up to this release"
