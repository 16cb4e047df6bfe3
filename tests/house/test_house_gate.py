"""The gate fails when it should, and setup says what is missing."""

import sys
from pathlib import Path

import pytest

import bootstrap
import gate
from gate import Outcome, Stage


def printing(text: str, code: int = 0) -> tuple[str, ...]:
    """A command that prints and ends so."""
    return (sys.executable, "-c", f"print({text!r}); raise SystemExit({code})")


@pytest.mark.parametrize(
    ("commands", "holds"),
    [
        pytest.param([printing("== 3 passed in 0.1s ==")], True, id="tests that passed"),
        pytest.param([printing("== 2 passed, 1 failed in 0.1s ==", 1)], False, id="a test that failed"),
        pytest.param([printing("== no tests ran in 0.1s ==", 5)], False, id="no test"),
        pytest.param(
            [printing("== no tests ran in 0.1s ==")], False, id="no test, though pytest was content"
        ),
        pytest.param([printing("== 4 skipped in 0.1s ==")], False, id="nothing but skipped tests"),
        pytest.param(
            [printing("", 1), printing("== 3 passed in 0.1s ==")], False, id="a command before it failed"
        ),
    ],
)
def test_a_stage_of_tests_holds_when_some_passed_and_none_failed(
    commands: list[tuple[str, ...]], holds: bool
) -> None:
    assert gate.run(Stage("unit", 1, tuple(commands), tests=True)).ok is holds


def test_a_stage_runs_beside_the_next_chosen_one() -> None:
    types, unit, last = Stage("types", 1, (), beside_next=True), Stage("unit", 1, ()), Stage("last", 1, ())
    assert list(gate.groups([types, unit, last])) == [[types, unit], [last]]
    assert list(gate.groups([types, last])) == [[types, last]]
    assert list(gate.groups([types])) == [[types]]


def test_stages_are_chosen_by_name_and_by_start() -> None:
    every = [Stage(name, 1, ()) for name in ("lock", "style", "unit")]
    assert [stage.name for stage in gate.choose(every, ["lock", "unit"], None)] == ["lock", "unit"]
    assert [stage.name for stage in gate.choose(every, ["lock", "style", "unit"], "style")] == [
        "style",
        "unit",
    ]


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(SystemExit):
        gate.parse(["--only", "unit,units"])


def test_the_first_failing_stage_is_read_last(capsys: pytest.CaptureFixture[str]) -> None:
    failed = [Outcome(Stage(name, 1, ()), ok=False, output=f"what {name} said") for name in ("style", "unit")]
    assert gate.conclude([Outcome(Stage("lock", 1, ())), *failed]) == 1
    assert capsys.readouterr().out.rstrip().endswith("what style said")


def test_a_gate_that_holds_says_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.conclude([Outcome(Stage("lock", 1, ()))]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("said", "version"), [("uv 0.13.9 (x86_64)", (0, 13)), ("uv 1.2.0", (1, 2)), ("no number", ())]
)
def test_setup_reads_the_version_of_uv(tmp_path: Path, said: str, version: tuple[int, ...]) -> None:
    uv = tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\necho '{said}'\n")
    uv.chmod(0o755)
    assert bootstrap.version_of(str(uv)) == version


def test_a_uv_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert bootstrap.version_of(str(tmp_path / "uv")) == ()


def no_module(name: str) -> None:
    """What `find_spec` says of a module that is not installed."""


def test_setup_without_uv_and_pip_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(bootstrap, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(bootstrap, "find_uv", lambda: None)
    monkeypatch.setattr("importlib.util.find_spec", no_module)
    assert bootstrap.main() == 1
    assert "try: apt-get install python3-pip" in capsys.readouterr().err


def test_setup_with_an_old_python_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "OLDEST_PYTHON", (99, 0))
    assert bootstrap.main() == 1
    assert "try: make setup PYTHON=" in capsys.readouterr().err


def test_setup_is_a_no_op_where_its_stamp_is_current(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stamp = tmp_path / "stamp"
    stamp.write_text(bootstrap.stamp())
    monkeypatch.setattr(bootstrap, "STAMP", stamp)
    monkeypatch.setattr(bootstrap, "run", must_not_run)
    assert bootstrap.main() == 0


def must_not_run(command: list[str], failure: str) -> None:
    """Stands where setup starts a program."""
    pytest.fail(f"{command} was run")
