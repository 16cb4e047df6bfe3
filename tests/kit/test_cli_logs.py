"""`psych log export`, `import` and `verify`: logs as files, whole or absent, and whether they are sound."""

import errno
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from psych_runtime import Entry, InMemoryStore, RunHeader, RunId, Scope, Store
from psych_runtime.api.export_file import Tally
from psych_runtime.cli.staging import staging
from psych_runtime.testing import LogBuilder, StoreProxy
from tests.kit.command import PSYCH, Psych, on_a_terminal, run
from tests.kit.logs import ACME, VERSION, dump, family, flip_a_byte, put_blob, store, url_of, whole
from tests.kit.test_cli_store_care import opens

PLANTED = [f"planted-{number:04}-word" for number in range(1_000)]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A settled Run with a blob, and an open one."""
    address = url_of(tmp_path)
    goes_on = LogBuilder("run_open", scope=ACME, version_hash=VERSION.hash).admitted().attempt()
    log = whole().edit(1, idempotency_key="order 7")
    store(address, log, goes_on, headers={"run_test": {"idempotency_key": "order 7"}})
    put_blob(address, "run_test")
    return address


@pytest.fixture
def exported(psych: Psych, url: str, tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    assert psych("log", "export", "run_test", "--store", url, "-o", str(path)).code == 0
    return path


def other(tmp_path: Path) -> str:
    """A store with nothing in it."""
    address = url_of(tmp_path, "other.db")
    store(address)
    return address


# --- export ----------------------------------------------------------------------------------------------


def test_a_file_and_stdout_hold_the_same_bytes(url: str, exported: Path) -> None:
    piped = run(f"{PSYCH} log export run_test --store {url}")
    assert (piped.code, piped.err) == (0, "")
    assert piped.out.encode() == exported.read_bytes()
    assert [line[2 : line.index('"', 2)] for line in piped.out.splitlines()][-2:] == ["blob", "end"]


def test_what_was_written_is_told(psych: Psych, url: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    command = ("log", "export", "run_test", "--store", url, "-o", str(path))
    assert psych(*command).out.split() == ["created", str(path), "run_test"]
    (file,) = psych(*command, "--json").document()["files"]
    size = path.stat().st_size
    said = {"run_id": "run_test", "path": str(path), "bytes": size, "action": "same", "lacks_blobs": False}
    assert file == said


def test_a_document_tells_of_files_and_stdout_is_none(psych: Psych, url: str) -> None:
    ended = psych("log", "export", "run_test", "--store", url, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.error()["fix"] == "-o FILE"


@pytest.mark.parametrize("name", ["nowhere/run.jsonl", "nowhere/deeper/run", "file/run.jsonl"])
def test_a_folder_that_is_missing_is_the_one_that_was_named(
    psych: Psych, url: str, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / name
    ended = psych("log", "export", "run_test", "--store", url, "-o", str(path))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == [
        f"psych: there is no folder {path.parent}",
        "try: -o in a folder that is there",
    ]


def test_a_name_that_no_file_has_is_told_as_it_was_given(psych: Psych, url: str, tmp_path: Path) -> None:
    path = tmp_path / ("a" * 300)
    ended = psych("log", "export", "run_test", "--store", url, "-o", str(path))
    assert ended.code == 1
    assert str(path) in ended.err
    assert ".psych-" not in ended.err


def test_a_folder_in_which_nothing_can_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, mode: int = 0o777) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(PermissionError) as caught, staging(tmp_path, {}):
        pass
    assert caught.value.filename == str(tmp_path)


def test_another_file_is_never_written_over(psych: Psych, url: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("mine")
    for target in (path, tmp_path / "folder" / "sub"):
        target.parent.mkdir(exist_ok=True)
        target.touch()
        ended = psych("log", "export", "run_test", "--store", url, "-o", str(target))
        assert (ended.code, ended.out) == (1, "")
        assert "is there already, with other bytes" in ended.err
    assert path.read_text() == "mine"
    assert not list(tmp_path.rglob(".psych-*"))


def test_a_file_that_appears_meanwhile_is_left_alone(
    psych: Psych, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, linked = tmp_path / "run.jsonl", os.link

    def link(staged: Path, target: Path) -> None:
        path.write_text("theirs")
        linked(staged, target)

    monkeypatch.setattr(os, "link", link)
    ended = psych("log", "export", "run_test", "--store", url, "-o", str(path))
    assert (ended.code, path.read_text()) == (1, "theirs")
    assert "is there already, with other bytes" in ended.err


@pytest.mark.parametrize("flags", [[], ["--redact"]], ids=["whole", "redacted"])
def test_a_broken_log_makes_no_file(psych: Psych, url: str, tmp_path: Path, flags: list[str]) -> None:
    flip_a_byte(url, "run_test", 4)
    ended = psych("log", "export", "run_test", "--store", url, "-o", str(tmp_path / "run.jsonl"), *flags)
    assert ended.code == 1
    assert "is corrupt at seq 4" in ended.err
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".db", ".db-shm", ".db-wal"]


@pytest.mark.parametrize("moment", ["os.fsync", "os.link"], ids=["at the end", "before it appears"])
def test_a_kill_leaves_no_half_of_a_file(url: str, tmp_path: Path, moment: str) -> None:
    program = (
        f"import os; from psych_runtime.cli import main; "
        f"{moment} = lambda *_: os.kill(os.getpid(), 9); "
        f"main(['log', 'export', 'run_test', '--store', {url!r}, '-o', 'run.jsonl'])"
    )
    assert run([PSYCH.replace("psych", "python"), "-c", program], cwd=tmp_path).code == -9
    assert not (tmp_path / "run.jsonl").exists()


def test_a_full_disk_leaves_no_half_of_a_file(
    psych: Psych, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    ended = psych("log", "export", "run_test", "--store", url, "-o", str(tmp_path / "run.jsonl"))
    assert ended.code == 1
    assert "once there is room on that disk" in ended.err
    assert not list(tmp_path.glob("*.jsonl"))
    assert not list(tmp_path.glob(".psych-*"))


def test_a_tree_is_one_file_a_run(psych: Psych, tmp_path: Path) -> None:
    url, folder = url_of(tmp_path), tmp_path / "tree"
    family(url)
    assert psych("log", "export", "run_root", "--children", "--store", url).code == 2, "where to?"
    for action in ("created", "same"):
        ended = psych("log", "export", "run_root", "--children", "--store", url, "-o", str(folder))
        assert [line.split()[0] for line in ended.out.splitlines()] == [action] * 4
    assert {path.name for path in folder.iterdir()} == {
        *("run_root.jsonl", "run_left.jsonl", "run_right.jsonl", "run_deep.jsonl")
    }
    into = other(tmp_path)
    assert psych("log", "import", *map(str, folder.iterdir()), "--store", into).code == 0
    assert len(psych("runs", "--root", "run_root", "--store", into).out.splitlines()) == 4


def test_an_id_leads_out_of_no_folder(psych: Psych, tmp_path: Path) -> None:
    url, folder = url_of(tmp_path), tmp_path / "in"
    store(url, whole("../out"))
    assert psych("log", "export", "../out", "--store", url, "-o", f"{folder}/").code == 0
    assert [path.name for path in folder.iterdir()] == ["..%2Fout.jsonl"]


def test_nothing_that_was_said_is_in_a_redacted_file(psych: Psych, tmp_path: Path) -> None:
    url, path = url_of(tmp_path), tmp_path / "redacted.jsonl"
    log = LogBuilder(scope=ACME, version_hash=VERSION.hash).admitted({"message": PLANTED[0]}).attempt()
    for word in PLANTED[1:]:
        log.call("look", {"name": word}, {"found": [word]})
    store(url, log.turn().model_started().model_finished(PLANTED[-1]).settled())
    assert psych("log", "export", "run_test", "--store", url, "-o", str(path), "--redact").code == 0
    into = other(tmp_path)
    assert psych("log", "import", str(path), "--store", into).code == 0
    told = psych("show", "run_test", "--store", into, "--json").out + "".join(dump(tmp_path / "other.db"))
    assert "planted" not in path.read_text() + told
    assert "<text 17>" in told
    assert path.read_text().startswith('{"psych_export":1,"redacted":true}')


def test_a_terminal_is_shown_no_character_that_acts(tmp_path: Path) -> None:
    url = url_of(tmp_path)
    store(url, whole(), headers={"run_test": {"name": "x\x9b2J\u202e"}})
    shown = on_a_terminal("log", "export", "run_test", "--store", url).decode()
    assert "x\\x9b2J\\u202e" in shown
    assert not {"\x9b", "\u202e"} & set(shown)


# --- import ----------------------------------------------------------------------------------------------


def test_export_import_export_is_equal_to_the_byte(psych: Psych, exported: Path, tmp_path: Path) -> None:
    into, again = other(tmp_path), tmp_path / "again.jsonl"
    assert psych("log", "import", str(exported), "--store", into).out.split() == [
        *("imported", str(exported), "run_test")
    ]
    assert psych("log", "export", "run_test", "--store", into, "-o", str(again)).code == 0
    assert again.read_bytes() == exported.read_bytes()
    told = psych("log", "import", str(exported), "--store", into, "--json").document()
    assert told["files"] == [{"path": str(exported), "run_id": "run_test", "action": "already there"}]


def test_a_dry_run_says_what_would_be_and_writes_nothing(
    psych: Psych, exported: Path, tmp_path: Path
) -> None:
    into = other(tmp_path)
    before = dump(tmp_path / "other.db")
    ended = psych("log", "import", str(exported), "--store", into, "--dry-run")
    assert (ended.code, ended.out.split()[:3]) == (0, ["would", "be", "imported"])
    assert dump(tmp_path / "other.db") == before
    psych("log", "import", str(exported), "--store", into)
    assert "already there" in psych("log", "import", str(exported), "--store", into, "--dry-run").out


def test_a_dry_run_refuses_what_an_import_refuses(psych: Psych, exported: Path, tmp_path: Path) -> None:
    into = url_of(tmp_path, "other.db")
    store(into, whole("run_other"), headers={"run_other": {"idempotency_key": "order 7"}})
    for flags in (["--dry-run"], []):
        ended = psych("log", "import", str(exported), "--store", into, *flags, "--json")
        assert ended.code == 1
        assert ended.error()["type"] == "IdempotencyConflict"
        assert ended.document()["files"] == []


class Bare(StoreProxy):
    """A store that keeps no blobs."""

    @property
    def blobs(self) -> None:
        return None


class Refusing(InMemoryStore):
    """A store that takes no Run, whatever it is."""

    async def admit(self, header: RunHeader, entries: Sequence[Entry]) -> RunId:
        raise ValueError("not on a Sunday")


@pytest.mark.parametrize(
    ("kept", "says", "fix"),
    [
        pytest.param(Bare(InMemoryStore()), "has blobs", "--store with a store that keeps", id="no blobs"),
        pytest.param(Refusing(), "not on a Sunday", "psych log import --debug", id="anything else"),
    ],
)
def test_what_a_store_refuses_is_told_with_its_own_cure(
    psych: Psych, exported: Path, monkeypatch: pytest.MonkeyPatch, kept: Store, says: str, fix: str
) -> None:
    opens(monkeypatch, kept)
    ended = psych("log", "import", str(exported), "--store", "far://away", "--json")
    assert (ended.code, ended.error()["type"]) == (1, "ValueError")
    assert says in ended.error()["message"]
    assert ended.error()["fix"].startswith(fix)


def test_a_dry_run_needs_a_place_for_blobs_too(
    psych: Psych, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens(monkeypatch, Bare(InMemoryStore()))
    assert psych("log", "import", str(exported), "--store", "far://away", "--dry-run").code == 1


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def without_a_line(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:4], *lines[5:]])


def edited(content: bytes) -> bytes:
    return content.replace(b'"acme"', b'"rival"', 1)


def flipped(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    entry = json.loads(lines[5])
    body = entry["entry"]["body"]
    entry["entry"]["body"] = body[:40] + ("A" if body[40] != "A" else "B") + body[41:]
    lines[5] = json.dumps(entry, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    return b"".join(lines)


def emptied(content: bytes) -> bytes:
    return b""


def no_export(content: bytes) -> bytes:
    return b"{}\n" * 3


def no_json(content: bytes) -> bytes:
    return b"\xff" + content


def twice(content: bytes) -> bytes:
    return content + content


def header_edited(content: bytes) -> bytes:
    return content.replace(b'"order 7"', b'"order 8"')


def cut_in_a_newer_version(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:2], lines[2].replace(b'"format":1', b'"format":99')])


DAMAGES = (
    *(cut, without_a_line, edited, flipped, emptied, no_export, no_json, twice, header_edited),
    cut_in_a_newer_version,
)


@pytest.mark.parametrize("flags", [[], ["--dry-run"]], ids=["import", "dry run"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_cut_or_edited_file_imports_nothing(
    psych: Psych, exported: Path, tmp_path: Path, damage: Callable[[bytes], bytes], flags: list[str]
) -> None:
    into = other(tmp_path)
    before = dump(tmp_path / "other.db")
    exported.write_bytes(damage(exported.read_bytes()))
    ended = psych("log", "import", str(exported), "--store", into, *flags)
    assert (ended.code, ended.out) == (1, "")
    told, fix = ended.err.splitlines()
    assert told.startswith(f"psych: {exported}: ")
    assert fix == "try: a copy of that file as it was exported"
    assert dump(tmp_path / "other.db") == before


def test_what_came_before_a_refused_file_is_told(psych: Psych, exported: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(cut(exported.read_bytes()))
    ended = psych("log", "import", str(exported), str(bad), "--store", other(tmp_path), "--json")
    assert ended.code == 1
    assert [file["action"] for file in ended.document()["files"]] == ["imported"]
    assert str(bad) in ended.error()["message"]


@pytest.mark.parametrize(
    ("file", "code"), [("absent.jsonl", 4), (".", 1)], ids=["a file that is not there", "a folder"]
)
def test_a_file_that_cannot_be_read_is_told(psych: Psych, tmp_path: Path, file: str, code: int) -> None:
    ended = psych("log", "import", str(tmp_path / file), "--store", other(tmp_path))
    assert (ended.code, ended.out) == (code, "")
    assert len(ended.err.splitlines()) == 2


# --- verify ----------------------------------------------------------------------------------------------


def test_sound_logs_are_ok(psych: Psych, url: str, exported: Path) -> None:
    ended = psych("log", "verify", "run_test", "run_open", str(exported), "--store", url)
    assert (ended.code, ended.err) == (0, "")
    assert [line.split() for line in ended.out.splitlines()] == [
        *(["ok", "run_test"], ["ok", "run_open"], ["ok", str(exported)])
    ]


def test_files_alone_need_no_store(psych: Psych, exported: Path) -> None:
    assert psych("log", "verify", str(exported), "--json").document() == {
        "schema": "psych.verify/1",
        "bad": [],
        "runs": 1,
        "ok": True,
    }


def test_a_flipped_byte_is_found_at_its_seq(psych: Psych, url: str) -> None:
    flip_a_byte(url, "run_test", 5)
    shown = psych("log", "verify", "--all", "--store", url)
    assert shown.code == 3
    assert sorted(line.split()[:2] for line in shown.out.splitlines()) == [
        *(["bad", "run_test"], ["ok", "run_open"])
    ]
    document = psych("log", "verify", "--all", "--store", url, "--json").document()
    assert (document["runs"], document["ok"]) == (2, False)
    (bad,) = document["bad"]
    assert (bad["run_id"], bad["seq"], bad["reason"]) == ("run_test", 5, "digest_mismatch")


@pytest.mark.parametrize(
    ("damage", "seq"),
    [
        pytest.param(without_a_line, 2, id="a line less"),
        pytest.param(flipped, 3, id="a byte flipped"),
        pytest.param(header_edited, 20, id="a header edited"),
        pytest.param(cut_in_a_newer_version, 1, id="cut in what a newer release wrote"),
    ],
)
def test_a_damaged_file_is_bad_where_it_breaks(
    psych: Psych, exported: Path, damage: Callable[[bytes], bytes], seq: int
) -> None:
    exported.write_bytes(damage(exported.read_bytes()))
    (bad,) = psych("log", "verify", str(exported), "--json").document()["bad"]
    assert (bad["run_id"], bad["seq"]) == ("run_test", min(seq, len(whole().entries()) + 1))


def hash_of_another(lines: list[bytes]) -> list[bytes]:
    """A Version under a hash that is not its own."""
    return [line.replace(VERSION.hash.encode(), b"sha256:" + b"0" * 64) for line in lines]


def led_elsewhere(lines: list[bytes]) -> list[bytes]:
    """A blob whose name leads out of its folder."""
    return [line.replace(b'"call_1.1"', b'"../../up"') for line in lines]


def in_no_year(lines: list[bytes]) -> list[bytes]:
    """A Run of a time before all others."""
    header = json.loads(lines[1])
    header["run"]["created_at"] = "0001-01-01T00:00:00+14:00"
    return [lines[0], json.dumps(header).encode() + b"\n", *lines[2:]]


@pytest.mark.parametrize("forge", [hash_of_another, led_elsewhere, in_no_year])
def test_each_file_has_its_line_whatever_is_wrong_with_another(
    psych: Psych, exported: Path, tmp_path: Path, forge: Callable[[list[bytes]], list[bytes]]
) -> None:
    lines, forged, short = exported.read_bytes().splitlines(keepends=True), tmp_path / "f", tmp_path / "s"
    changed = forge(lines[:-1])
    assert changed != lines[:-1]
    tally = Tally()
    forged.write_bytes(b"".join([*map(tally.add, changed), tally.end_line]))
    short.write_bytes(cut(exported.read_bytes()))
    ended = psych("log", "verify", str(exported), str(forged), str(short))
    assert (ended.code, ended.err) == (3, "")
    assert [line.split()[:2] for line in ended.out.splitlines()] == [
        *(["ok", str(exported)], ["bad", str(forged)], ["bad", str(short)])
    ]


def test_a_log_whose_chain_holds_may_still_break_a_rule(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    log = LogBuilder("run_test", scope=ACME, version_hash=VERSION.hash).admitted().attempt().turn()
    log.model_started().model_finished(calls=[("look", {})]).unchecked().settled()
    store(url, log)
    (bad,) = psych("log", "verify", "run_test", "--store", url, "--json").document()["bad"]
    assert (bad["seq"], bad["reason"]) == (6, "call_answered_once")


def test_all_may_be_those_of_a_tenant_or_of_late(psych: Psych, tmp_path: Path) -> None:
    url = url_of(tmp_path)
    store(url, whole(), whole("run_rival", Scope(tenant="rival")))
    assert psych("log", "verify", "--all", "--tenant", "rival", "--store", url).out.split() == [
        "ok",
        "run_rival",
    ]
    assert psych("log", "verify", "--all", "--since", "1h", "--store", url).out == ""
    foreign = psych("log", "verify", "run_rival", "--tenant", "acme", "--store", url)
    unknown = psych("log", "verify", "run_nobody", "--store", url)
    assert (foreign.code, foreign.err) == (4, unknown.err.replace("run_nobody", "run_rival"))


@pytest.mark.parametrize(
    "flags", [[], ["--all", "run_test"], ["run_test", "--since", "1h"]], ids=["none", "both", "since"]
)
def test_logs_are_named_or_they_are_all(psych: Psych, url: str, flags: list[str]) -> None:
    assert psych("log", "verify", *flags, "--store", url).code == 2
