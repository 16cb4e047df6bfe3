"""`psych doctor`: every planted problem is found, with what to type and the right code."""

import sqlite3
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import anyio
import pytest

import psych_runtime
from psych_runtime import InMemoryStore, MissingExtra, NotMigrated, Page, RunHeader, RunQuery, StoreCheck
from psych_runtime.cli import doctor
from psych_runtime.cli.checkup import installed, stored
from psych_runtime.cli.checkup.titles import TITLES, ok
from psych_runtime.cli.documents import Check
from tests.kit.command import PSYCH, Ended, Psych, run
from tests.kit.logs import dump, erase, put_blob, store, url_of, whole
from tests.kit.shop import Shop
from tests.kit.test_cli_store_care import opens

HERE = [name for name in TITLES if not name.startswith("store.")]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def checks(ended: Ended) -> dict[str, dict[str, Any]]:
    """What was found, by the id of the check."""
    return {check["id"]: check for check in ended.document()["checks"]}


def test_a_sound_installation_with_no_store_is_well(psych: Psych) -> None:
    ended = psych("doctor", "--json")
    assert ended.code == 0
    assert ended.document()["ok"] is True
    found = checks(ended)
    assert list(found) == list(TITLES)
    assert [found[name]["state"] for name in HERE] == ["ok", "ok", "ok", "ok", "ok", "skip"]
    assert {check["state"] for name, check in found.items() if name not in HERE} == {"skip"}
    assert "sqlalchemy 2." in found["drivers"]["detail"]


def test_a_sound_store_is_well(psych: Psych, shop: Shop) -> None:
    found = checks(psych("doctor", "--store", shop.url, "--json"))
    states = {name: check["state"] for name, check in found.items() if name not in HERE}
    assert states.pop("store.library") in {"ok", "warn"}
    assert set(states.values()) == {"ok"}
    assert found["store.open"]["detail"].startswith("sqlite 3.")
    assert found["store.durability"]["detail"] == "full"


def test_text_has_a_line_a_check_and_what_to_type_under_it(psych: Psych) -> None:
    lines = psych("doctor").out.splitlines()
    assert [line.split()[1] for line in lines if line[:1] != " "] == list(TITLES)
    assert (
        lines[[line.split()[1] for line in lines].index("skills") + 1].strip() == "try: psych skills install"
    )


def test_no_value_of_a_variable_is_told(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-s3cret")
    monkeypatch.setenv("PSYCH_STORE_URL", "oracle://ada:s3cret@host/db")
    ended = psych("doctor", "--json")
    assert ended.code == 3
    assert "s3cret" not in ended.out + ended.err
    told = "PSYCH_STORE_URL set, PSYCH_MODEL unset, PSYCH_BASE_URL unset, OPENAI_API_KEY set"
    assert checks(ended)["env"]["detail"] == told
    assert checks(ended)["store.open"]["state"] == "fail"


def test_a_check_that_hangs_is_told_and_waited_for_by_nobody(
    psych: Psych, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, ended_in_time = threading.Event(), list[bool]()

    def hanging() -> Check:
        ended_in_time.append(goes_on.wait(5))
        return ok("drivers", "none")

    probes = tuple((name, hanging if name == "drivers" else probe) for name, probe in doctor.PROBES)
    monkeypatch.setattr(doctor, "PROBES", probes)
    monkeypatch.setattr(doctor, "PROBE_SECONDS", 0.5)
    ended = psych("doctor", "--json")
    assert not ended_in_time, "the command waited for it"
    goes_on.set()
    check = checks(ended)["drivers"]
    assert (ended.code, check["state"], check["detail"]) == (3, "fail", "it took longer than 0.5 s")
    assert checks(ended)["python"]["state"] == "ok"


# --- what is installed -----------------------------------------------------------------------------------


def metadata(folder: Path, name: str, version: str, *lines: str) -> None:
    """A distribution as it stands in site-packages, as far as it is asked."""
    home = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    home.mkdir(parents=True)
    head = ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}")
    (home / "METADATA").write_text("\n".join((*head, *lines)) + "\n")


def doctor_with(folder: Path) -> Ended:
    """What the doctor finds where a folder stands before all that is installed."""
    return run([PSYCH, "doctor", "--json"], env={"PYTHONPATH": str(folder)})


def test_siblings_of_another_release_are_found(tmp_path: Path) -> None:
    metadata(tmp_path, "psych-runtime-sql", "9.9.9")
    ended = doctor_with(tmp_path)
    check = checks(ended)["versions"]
    assert (ended.code, check["state"]) == (3, "fail")
    assert "psych-runtime-sql 9.9.9" in check["detail"]
    assert check["fix"]


def test_a_namesake_of_other_origin_is_found(tmp_path: Path) -> None:
    metadata(tmp_path, "psych-runtime", "2.0.0", "Requires-Dist: requests")
    ended = doctor_with(tmp_path)
    check = checks(ended)["versions"]
    assert (ended.code, check["state"]) == (3, "fail")
    assert "psych-runtime 2.0.0 is not this project's" in check["detail"]
    assert check["fix"].startswith("pip uninstall psych-runtime")


def test_an_extra_whose_needs_are_not_here_is_absent_and_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str | None:
        return None if name == "hypothesis" else "1.0"

    def load(module: str) -> object:
        if module == "hypothesis" or module.startswith("psych_runtime_contract"):
            raise ModuleNotFoundError("No module named 'hypothesis'", name="hypothesis")
        return object()

    monkeypatch.setattr(installed, "_version", version)
    monkeypatch.setattr(installed, "import_module", load)
    extras, drivers = installed.extras(), installed.drivers()
    assert extras.detail == "here: prices, sqlite; absent: testing"
    assert extras.fix is not None
    assert "[testing]" in extras.fix
    assert drivers.state == "fail"
    assert "psych_runtime_contract.plugin is broken" in drivers.detail


def test_what_a_store_says_of_itself_is_not_its_own_cure() -> None:
    check = anyio.run(InMemoryStore().check)
    found = stored.warned(ok("store.durability", check.durability), check)
    assert (found.state, found.fix) == ("warn", None)
    assert "SQLiteStore" not in found.detail, "an adapter that hands on to it is none"


def test_a_broken_driver_is_told_from_an_absent_one(tmp_path: Path) -> None:
    (tmp_path / "sqlalchemy").mkdir()
    (tmp_path / "sqlalchemy" / "__init__.py").write_text("raise ImportError('wrong\\nELF class')")
    ended = doctor_with(tmp_path)
    check = checks(ended)["drivers"]
    assert (ended.code, check["state"]) == (3, "fail")
    assert "sqlalchemy is broken: ImportError: wrong\nELF class" in check["detail"]


def test_an_absent_driver_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ModuleNotFoundError(name=name) if "." not in name else MissingExtra(name, "sqlite")

    monkeypatch.setattr(installed, "import_module", absent)
    check = installed.drivers()
    assert check.state == "ok"
    assert {word for word in check.detail.replace(";", "").split() if "." not in word} >= {"absent"}
    assert "broken" not in check.detail


def test_a_driver_whose_own_need_is_absent_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ModuleNotFoundError("No module named 'greenlet'", name="greenlet")

    monkeypatch.setattr(installed, "import_module", absent)
    assert installed.drivers().state == "fail"


def test_the_command_of_an_absent_extra_is_told(tmp_path: Path) -> None:
    ours = distribution("psych-runtime")
    needs = [f"Requires-Dist: {line}" for line in ours.requires or ()]
    missing = "Requires-Dist: no-such-thing-at-all>=1 ; extra == 'moon'"
    metadata(tmp_path, "psych-runtime", ours.version, *needs, missing)
    check = checks(doctor_with(tmp_path))["extras"]
    assert check["state"] == "ok"
    assert "absent: moon" in check["detail"]
    assert "psych-runtime[moon]==" in check["fix"]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("psych-runtime-core==0.1.0", ("psych-runtime-core", "0.1.0", None)),
        ("Psych_Runtime.Core (==0.1.0)", ("psych-runtime-core", "0.1.0", None)),
        ("genai-prices>=0.2.3; extra == 'prices'", ("genai-prices", None, "prices")),
        ('x[y]<2,>=1 ; python_version > "3" and extra == "all"', ("x", None, "all")),
        ('x ; python_version > "3"', ("x", None, None)),
    ],
)
def test_a_requirement_is_read(tmp_path: Path, line: str, read: tuple[str, str | None, str | None]) -> None:
    metadata(tmp_path, "needing", "1", f"Requires-Dist: {line}")
    needing = Distribution.at(tmp_path / "needing-1.dist-info")
    assert list(installed.requirements(needing)) == [read]


def test_skills_of_another_release_are_a_warning(
    psych: Psych, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psych_runtime.cli import skill_set

    (tmp_path / "kit" / "alpha").mkdir(parents=True)
    (tmp_path / "kit" / "alpha" / "SKILL.md").write_text("---\nname: alpha\ndescription: A.\n---\n")
    monkeypatch.setattr(skill_set, "skills", lambda: tmp_path / "kit")
    assert psych("skills", "install").code == 0
    assert checks(psych("doctor", "--json"))["skills"]["state"] == "ok"
    (tmp_path / "kit" / "alpha" / "SKILL.md").write_text("new")
    ended = psych("doctor", "--json")
    check = checks(ended)["skills"]
    assert (ended.code, check["state"], check["detail"]) == (0, "warn", "alpha is outdated")
    assert check["fix"] == "psych skills install"


# --- the store -------------------------------------------------------------------------------------------


def empty(folder: Path) -> None:
    (folder / "runs.db").touch()


def pending(folder: Path) -> None:
    store(url_of(folder))
    execute(folder, "DELETE FROM psych_migration WHERE number > 1")


def newer(folder: Path) -> None:
    store(url_of(folder))
    columns = "number, name, phase, checksum, applied_at, release"
    row = "900, '0900_post_later', 'post', 'x', 0, '9'"
    execute(folder, f"INSERT INTO psych_migration ({columns}) VALUES ({row})")


def newer_pre(folder: Path) -> None:
    newer(folder)
    execute(folder, "UPDATE psych_migration SET phase = 'pre', name = '0900_pre_later' WHERE number = 900")


def execute(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "runs.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("plant", "code", "state", "fix"),
    [
        pytest.param(empty, 3, "fail", "psych migrate", id="an empty file"),
        pytest.param(pending, 3, "fail", "psych migrate", id="a pending migration"),
        pytest.param(newer, 3, "fail", "psych of the release that wrote", id="a newer schema"),
        pytest.param(newer_pre, 0, "warn", "pip install of that release", id="a newer one that works"),
    ],
)
def test_a_schema_of_another_release_is_found(
    psych: Psych, tmp_path: Path, plant: Any, code: int, state: str, fix: str
) -> None:
    plant(tmp_path)
    ended = psych("doctor", "--store", url_of(tmp_path), "--json")
    check = checks(ended)["store.schema"]
    assert (ended.code, check["state"]) == (code, state)
    assert check["fix"].startswith(fix)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        pytest.param("sqlite:///absent.db", "there is no file", id="an absent file"),
        pytest.param("sqlite:///other.txt", "is no SQLite database", id="a file that is no store"),
        pytest.param("memory:", "lives and dies in the process", id="memory"),
        pytest.param("oracle://ada:s3cret@h/d", "no store is known for 'oracle'", id="an unknown scheme"),
        pytest.param("sqlite:///runs.db?colour=red", "'colour' is unknown", id="an unknown option"),
    ],
)
def test_a_store_that_does_not_open_fails_alone(
    psych: Psych, tmp_path: Path, address: str, says: str
) -> None:
    (tmp_path / "other.txt").write_text("no database" * 100)
    (tmp_path / "runs.db").touch()
    ended = psych("doctor", "--store", address, "--json")
    found = checks(ended)
    assert (ended.code, found["store.open"]["state"]) == (3, "fail")
    assert says in found["store.open"]["detail"]
    assert found["store.open"]["fix"]
    assert "s3cret" not in ended.out
    assert {
        found[name]["state"] for name in TITLES if name.startswith("store.") and name != "store.open"
    } == {"skip"}
    assert found["versions"]["state"] == "ok"


def test_a_dead_host_is_found_in_bounded_time(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def silent(url: str, **given: object) -> AsyncGenerator[None]:
        await anyio.sleep_forever()
        yield

    monkeypatch.setattr(psych_runtime, "open_store", silent)
    monkeypatch.setattr(stored, "PROBE_SECONDS", 0.05)
    ended = psych("doctor", "--store", "far://away", "--json")
    assert (ended.code, checks(ended)["store.open"]["state"]) == (3, "fail")
    assert "did not answer within 0.05 s" in checks(ended)["store.open"]["detail"]


def test_no_password_is_told_of_a_store_that_fails(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(url: str, **given: object) -> None:
        raise psych_runtime.StoreError(f"nobody answers at {url}")

    monkeypatch.setattr(psych_runtime, "open_store", refused)
    for flags in ([], ["--json"]):
        ended = psych("doctor", "--store", "far://ada:s3cret@away/db", *flags)
        assert ended.code == 3
        assert "nobody answers at far://ada:***@away/db" in ended.out
        assert "s3cret" not in ended.out + ended.err


def test_a_blob_without_a_run_is_found(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    store(url, whole())
    put_blob(url, "run_test")
    for number in range(5):
        put_blob(url, f"run_gone_{number}")
    ended = psych("doctor", "--store", url, "--json")
    check = checks(ended)["store.leftovers"]
    assert (ended.code, check["state"]) == (0, "warn")
    assert check["detail"].startswith(
        "blobs without a Run: acme/run_gone_0, acme/run_gone_1, acme/run_gone_2 and 2 more; 6 looked at"
    )
    assert "delete_run" in check["fix"]


def test_what_was_cut_short_is_found(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    store(url, whole())
    columns = [row[1] for row in rows_of(tmp_path, "PRAGMA table_info(psych_mark)")]
    assert columns
    values = {"kind": "'purge'", "run_id": "'run_x'"}
    given = ", ".join(values.get(name, "0") for name in columns)
    execute(tmp_path, f"INSERT OR REPLACE INTO psych_mark ({', '.join(columns)}) VALUES ({given})")
    check = checks(psych("doctor", "--store", url, "--json"))["store.leftovers"]
    assert check["state"] == "warn"
    assert "1 of purge" in check["detail"]


def test_entries_without_a_run_are_found(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    store(url, *map(whole, ("run_here", "run_gone")))
    for table in ("psych_run", "psych_work"):
        execute(tmp_path, f"DELETE FROM {table} WHERE run_id = 'run_gone'")
    ended = psych("doctor", "--store", url, "--json")
    check = checks(ended)["store.leftovers"]
    assert (ended.code, check["state"]) == (0, "warn")
    assert check["detail"].startswith("entries without a Run: run_gone; ")


def rows_of(folder: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(folder / "runs.db")
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_a_run_whose_blobs_are_elsewhere_is_found(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    names = ("run_here", "run_elsewhere", "run_erased")
    store(url, *map(whole, names), headers={run_id: {"blobs": True} for run_id in names})
    erase(url, "run_erased")
    put_blob(url, "run_here")
    ended = psych("doctor", "--store", url, "--json")
    check = checks(ended)["store.blobs"]
    assert (ended.code, check["state"]) == (0, "warn")
    assert check["detail"] == "this store holds no blob of run_elsewhere; 3 looked at"
    put_blob(url, "run_erased")
    check = checks(psych("doctor", "--store", url, "--json"))["store.blobs"]
    assert (check["state"], check["detail"]) == ("warn", "blobs of erased Runs: run_erased; 3 looked at")


def test_a_release_of_sqlite_below_the_floor_is_found(
    psych: Psych, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 46, 1))
    ended = psych("doctor", "--store", shop.url, "--json")
    check = checks(ended)["store.library"]
    assert (ended.code, check["state"]) == (0, "warn")
    assert "3.51.3" in check["detail"]
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 51, 3))
    assert checks(psych("doctor", "--store", shop.url, "--json"))["store.library"]["state"] == "ok"


HEALTHY = StoreCheck("far", "1", "current", True, "majority", 0.0, 0.001)


@pytest.mark.parametrize(
    ("told", "check", "state"),
    [
        pytest.param({"clock_offset_seconds": -1.5}, "store.clock", "warn", id="a clock behind"),
        pytest.param({"clock_offset_seconds": 0.9}, "store.clock", "ok", id="a clock that will do"),
        pytest.param(
            {"warnings": ("durability: appendonly is no",)}, "store.durability", "warn", id="what is not kept"
        ),
        pytest.param({"warnings": ("library: too old",)}, "store.library", "warn", id="a topic is placed"),
        pytest.param({"warnings": ("clock: it jumped",)}, "store.clock", "warn", id="any topic is"),
        pytest.param({"warnings": ("library: too old",)}, "store.durability", "ok", id="and there alone"),
        pytest.param({"warnings": ("leftovers: 3 marks",)}, "store.leftovers", "warn", id="the last one too"),
        pytest.param({"schema": "pending"}, "store.schema", "warn", id="post is pending"),
        pytest.param({"schema": "none"}, "store.schema", "ok", id="no schema, and it answers"),
    ],
)
def test_what_a_store_says_of_itself_is_judged(
    psych: Psych, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], check: str, state: str
) -> None:
    class Telling(InMemoryStore):
        async def check(self) -> StoreCheck:
            return replace(HEALTHY, **told)

    opens(monkeypatch, Telling())
    ended = psych("doctor", "--store", "far://away", "--json")
    assert (ended.code, checks(ended)[check]["state"]) == (0, state)


def test_what_a_store_warns_of_stands_beside_what_was_found(
    psych: Psych, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Telling(InMemoryStore):
        async def check(self) -> StoreCheck:
            warnings = ("clock: it jumped by 40 s", "clock: and back")
            return replace(HEALTHY, clock_offset_seconds=9.0, warnings=warnings)

    opens(monkeypatch, Telling())
    check = checks(psych("doctor", "--store", "far://away", "--json"))["store.clock"]
    assert check["state"] == "warn"
    assert check["detail"] == "+9.000 s from ours; it jumped by 40 s; and back"
    assert "NTP" in check["fix"]


@pytest.mark.parametrize(
    ("refusal", "failed"),
    [(NotMigrated(1, 2), "store.schema"), (psych_runtime.StoreMisconfigured("no role"), "store.open")],
    ids=["NotMigrated", "StoreMisconfigured"],
)
def test_a_query_that_is_refused_fails_what_it_is_about(
    psych: Psych, monkeypatch: pytest.MonkeyPatch, refusal: Exception, failed: str
) -> None:
    class Refusing(InMemoryStore):
        async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
            raise refusal

    opens(monkeypatch, Refusing())
    ended = psych("doctor", "--store", "far://away", "--json")
    assert ended.code == 3
    assert [name for name, check in checks(ended).items() if check["state"] == "fail"] == [failed]


def test_looking_ends_in_time_and_says_how_far_it_came(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(InMemoryStore):
        async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
            if query.blobs:
                await anyio.sleep_forever()
            return Page(())

    opens(monkeypatch, Endless())
    monkeypatch.setattr(stored, "PROBE_SECONDS", 0.05)
    check = checks(psych("doctor", "--store", "far://away", "--json"))["store.blobs"]
    assert check["detail"] == "Runs with blobs: 0 looked at in time, and not the others"


def test_it_looks_and_changes_nothing(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    store(url, whole())
    before = dump(tmp_path / "runs.db")
    assert psych("doctor", "--store", url).code == 0
    assert dump(tmp_path / "runs.db") == before
