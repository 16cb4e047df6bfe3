"""Every benchmark runs, at its smallest, and what is printed of it is true."""

import math
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.figure import Bound, Figure, at_least, at_most
from benchmarks.setting import Setting
from benchmarks.table import table


@pytest.mark.parametrize("name", run.MEASURES)
def test_a_measure_runs_at_its_smallest(name: str, tmp_path: Path) -> None:
    figures = list(run.MEASURES[name](Setting(tmp_path, rounds=1, share=0)))
    assert figures
    for figure in figures:
        assert math.isfinite(figure.ratio)
        assert min(*figure.ours, *figure.against) > 0, figure.name


@pytest.mark.parametrize(
    ("bound", "ratio", "verdict"),
    [
        (at_most(2), 2.0, "holds"),
        (at_most(2), 2.1, "missed"),
        (at_least(2), 2.0, "holds"),
        (at_least(2), 1.9, "missed"),
        (None, 9.0, "reported"),
    ],
)
def test_a_verdict_follows_from_the_median(bound: Bound | None, ratio: float, verdict: str) -> None:
    figure = Figure("a / b", "ms", ours=[0.1, ratio * 4, 99.0], against=[1.0, 4.0, 1.0], bound=bound)
    assert figure.ratio == ratio
    assert figure.verdict == verdict


def test_both_sides_are_measured_in_every_round_and_take_turns_at_being_first(tmp_path: Path) -> None:
    taken: list[str] = []

    def side(name: str) -> float:
        taken.append(name)
        return float(len(taken))

    ours, against = Setting(tmp_path, rounds=3).alternate(lambda: side("ours"), lambda: side("bare"))
    assert len(ours) == len(against) == 3
    assert taken[2:] == ["bare", "ours", "ours", "bare", "bare", "ours"]


def test_a_table_has_a_row_for_each_figure() -> None:
    head, rule, row = table([Figure("a / b", "ms", [1.0, 2.0, 3.0], [1.0] * 3, at_most(2))]).splitlines()
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "a / b", "2 ms", "1 ms", "2", "1 – 3", "≤ 2", "holds",
    ]  # fmt: skip
    assert len(head) == len(rule) == len(row)


def test_the_bare_side_of_a_turn_is_short_enough_to_be_judged() -> None:
    assert len([line for line in run.bare_side().splitlines() if line]) <= 15


def test_the_command_measures_what_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--only", "growth", "--rounds", "1", "--share", "0"]) == 0
    printed = capsys.readouterr().out
    assert "next_effects after" in printed
    assert "import pydantic" not in printed


def test_an_unknown_measure_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.parse(["--only", "turn,turns"])
    assert "no such measure: turns" in capsys.readouterr().err


def test_the_last_run_is_put_into_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{run.BEGIN}an old run\n{run.END}after\n")
    monkeypatch.setattr(run, "README", readme)
    for text in ("a new run", "a newer run"):
        run.write(text)
    assert readme.read_text() == f"before\n{run.BEGIN}\na newer run\n\n{run.END}after\n"
