"""What holds for every verb: streams, flags, errors and how it ends."""

import signal
import sys
import time
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from psych_runtime.cli import new
from psych_runtime_core.errors import (
    CorruptionReason,
    CorruptLog,
    MissingExtra,
    NotMigrated,
    StoreUnavailable,
    VersionNotFound,
)
from tests.kit.command import BIN, Psych, going_on, on_a_terminal, read_rest, read_until, run
from tests.kit.shop import Shop

VERSION = metadata.version("psych-runtime")
VERBS = ", ".join(map(repr, ("new", "skills", "doctor", "runs", "show", "log", "stats", "migrate")))


def test_it_says_its_version(psych: Psych) -> None:
    assert psych("--version") == (0, f"psych {VERSION}\n", "")


def test_a_module_and_a_script_are_the_same_command() -> None:
    assert run([str(BIN / "psych"), "--version"]) == (0, f"psych {VERSION}\n", "")
    assert run([sys.executable, "-m", "psych_runtime", "--version"]) == (0, f"psych {VERSION}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"]], ids=["alone", "--help"])
def test_it_says_what_it_can_do(psych: Psych, arguments: list[str]) -> None:
    ended = psych(*arguments)
    assert ended.code == 0
    assert ended.out.startswith("usage: psych")
    assert ended.err == ""


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["show", "--help"], ["new", "--help"], ["run"]]
)
def test_what_needs_no_model_of_data_loads_none(arguments: list[str]) -> None:
    program = f"import sys; from psych_runtime.cli import main; main({arguments}); print(*sys.modules)"
    loaded = run([sys.executable, "-c", program]).out.splitlines()[-1].split()
    assert "psych_runtime.cli.parser" in loaded
    assert not {"pydantic", "asyncio", "anyio", "psych_runtime.cli.show"} & set(loaded)


@pytest.mark.parametrize("verb", ["run", "serve", "worker", "resume", "interrupt", "sho"])
def test_a_verb_that_there_is_not_is_a_fault_of_usage(psych: Psych, verb: str) -> None:
    ended = psych(verb, "run_1")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        f"psych: argument VERB: invalid choice: '{verb}' (choose from {VERBS})",
        "try: psych --help",
    ]


@pytest.mark.parametrize(
    ("arguments", "help_of"),
    [
        pytest.param(["show"], "psych show", id="no RUN"),
        pytest.param(["show", "run_1", "--tim", "3"], "psych show", id="a flag cut short"),
        pytest.param(["log", "verify", "--al"], "psych log verify", id="of a group"),
        pytest.param(["--al"], "psych", id="no verb"),
        pytest.param(["show", "run_1", "--timeout", "soon"], "psych show", id="no number"),
        pytest.param(["show", "run_1", "--timeout", "0"], "psych show", id="no time at all"),
        pytest.param(["show", "run_1", "--timeout", "nan"], "psych show", id="not a number"),
    ],
)
def test_a_wrong_command_line_names_the_help_that_helps(
    psych: Psych, arguments: list[str], help_of: str
) -> None:
    ended = psych(*arguments)
    assert ended.code == 2
    assert ended.err.splitlines()[1] == f"try: {help_of} --help"


@pytest.mark.parametrize(
    ("seconds", "code"), [("0", 2), ("0.001", 4), ("86400", 4), ("86400.5", 2), ("-1", 2), ("nan", 2)]
)
def test_seconds_are_over_none_and_a_day_at_most(psych: Psych, seconds: str, code: int) -> None:
    ended = psych("runs", "--store", "sqlite:///absent.db", "--timeout", seconds)
    assert ended.code == code
    assert ("is no number of seconds over 0, to 86400" in ended.err) == (code == 2)


@pytest.mark.parametrize("arguments", [["--json", "show", "nobody"], ["show", "nobody", "--json"]])
def test_a_flag_may_stand_before_the_verb_and_behind_it(psych: Psych, arguments: list[str]) -> None:
    ended = psych(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.error() == {
        "type": "CommandError",
        "message": "no store is named",
        "fix": "psych show nobody --store sqlite:///runs.db, or set PSYCH_STORE_URL",
        "fields": {},
    }


def failing(error: Exception) -> SimpleNamespace:
    """What stands in for the options of a verb, so that doing it fails."""

    def fail(_options: object, _output: object) -> int:
        raise error

    return SimpleNamespace(run=fail)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (StoreUnavailable("read", "gone", "none"), 5, "the store is unavailable"),
        (VersionNotFound("sha256:1"), 4, "no Version sha256:1"),
        (NotMigrated(0, 1), 1, "schema level 0"),
        (NotMigrated(2, 1), 1, "schema level 2"),
        (MissingExtra("psych_runtime_sqlite", "sqlite"), 1, "is not installed"),
        (CorruptLog(CorruptionReason.AFTER_ABORT, "run_1", 7, "x"), 1, "is corrupt at seq 7"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (ZeroDivisionError("a bug"), 1, "ZeroDivisionError: a bug"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_every_failure_is_two_lines_and_its_own_code(
    psych: Psych, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, says: str
) -> None:
    monkeypatch.setattr(new, "run", failing(error).run)
    ended = psych("new", "demo")
    wrong, fix = ended.err.splitlines()
    assert (ended.code, ended.out) == (code, "")
    assert wrong.startswith("psych: ")
    assert says in wrong
    assert fix.startswith("try: ")


def test_the_install_command_of_an_absent_extra_is_pinned_and_asks_no_index(
    psych: Psych, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new, "run", failing(MissingExtra("psych_runtime_sqlite", "sqlite")).run)
    fix = psych("new", "demo").err.splitlines()[1]
    assert f"pip install --no-index --find-links dist 'psych-runtime[sqlite]=={VERSION}'" in fix


def test_an_error_in_json_holds_its_fields(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = CorruptLog(CorruptionReason.AFTER_ABORT, "run_1", 7, "x")
    monkeypatch.setattr(new, "run", failing(broken).run)
    error = psych("new", "demo", "--json").error()
    assert error["type"] == "CorruptLog"
    assert error["fields"] == {"reason": "after_abort", "run_id": "run_1", "seq": 7, "detail": "x"}


def test_only_debug_shows_where_it_failed(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new, "run", failing(ValueError("a://u:s3cret@h\x1b[2J")).run)
    plain, debug = psych("new", "demo").err, psych("new", "demo", "--debug").err
    assert "Traceback" not in plain
    assert "Traceback" in debug
    assert "s3cret" not in plain + debug
    assert "\x1b" not in plain + debug


def test_a_message_cannot_forge_a_line(psych: Psych) -> None:
    ended = psych("new", "x\npsych: all is well\x1b[2J")
    assert len(ended.err.splitlines()) == 2
    assert "\x1b" not in ended.err


def test_a_full_disk_is_a_failure_in_two_lines() -> None:
    ended = run(f"{BIN / 'psych'} --version > /dev/full")
    assert ended.code == 1
    assert ended.err.splitlines() == [
        "psych: [Errno 28] No space left on device",
        "try: the same command, once there is room on that disk",
    ]


def test_a_closed_pipe_ends_quietly(shop: Shop) -> None:
    line = f"{BIN / 'psych'} show {shop.done} --store {shop.url} | true; echo ${{PIPESTATUS[0]}}"
    ended = run(["bash", "-c", line])
    assert (ended.out, ended.err) == ("141\n", "")


def test_the_first_line_is_enough_for_who_reads_no_more(shop: Shop) -> None:
    ended = run(["bash", "-c", f"{BIN / 'psych'} show {shop.done} --store {shop.url} | head -n 1"])
    assert (ended.code, ended.out, ended.err) == (0, f"run         {shop.done}\n", "")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(
    "verb", ["--version", "--help", "runs", "show", "show --json", "log export", "stats"]
)
def test_a_stdout_that_was_closed_before_is_as_one_whose_reader_has_gone(
    shop: Shop, verb: str, closed: str
) -> None:
    run_id = shop.done if verb.startswith(("show", "log")) else ""
    store = "" if verb.startswith("--") else f"--store {shop.url}"
    ended = run(f"{BIN / 'psych'} {verb} {run_id} {store} {closed}")
    assert (ended.code, ended.out, ended.err) == (141, "", "")


def test_what_is_wrong_is_not_told_on_stdout_where_stderr_is_closed(shop: Shop) -> None:
    ended = run(f"{BIN / 'psych'} show run_none --store {shop.url} 2>&-")
    assert (ended.code, ended.out) == (4, "")
    ended = run(f"{BIN / 'psych'} show run_none --store {shop.url} >&-")
    assert (ended.code, len(ended.err.splitlines())) == (4, 2)


def test_ctrl_c_ends_it_at_once_with_all_that_was_shown(shop: Shop) -> None:
    with going_on("show", shop.waiting, "--store", shop.url, "--follow") as process:
        read_until(process, "wait_")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = read_rest(process)
        assert time.monotonic() - began < 1.0
    assert (rest.code, rest.err) == (130, "")


def test_no_encoding_makes_it_fail(shop: Shop) -> None:
    ended = run(
        [str(BIN / "psych"), "show", shop.long, "--store", shop.url], env={"PYTHONIOENCODING": "ascii"}
    )
    assert (ended.code, ended.err) == (0, "")
    assert "\\xe9\\xe9" in ended.out


def test_state_words_are_coloured_on_a_terminal_alone(shop: Shop) -> None:
    shown = on_a_terminal("show", shop.done, "--store", shop.url)
    assert b"state       \x1b[32mdone\x1b[0m" in shown
    assert b"\x1b" not in on_a_terminal("show", shop.done, "--store", shop.url, NO_COLOR="1")
    piped = run([str(BIN / "psych"), "show", shop.done, "--store", shop.url])
    assert "\x1b" not in piped.out
    assert piped.out.encode().splitlines() == [
        line.replace(b"\x1b[32m", b"").replace(b"\x1b[0m", b"") for line in shown.splitlines()
    ]


def test_it_needs_no_folder_it_can_write(tmp_path: Path) -> None:
    assert run([str(BIN / "psych"), "--version"], cwd=tmp_path).code == 0
    assert not list(tmp_path.iterdir())
