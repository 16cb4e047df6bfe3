"""`psych show`: what it says of each Run, and what it does to none."""

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import psych_runtime
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime_core.views.json import as_json
from tests.kit import logs
from tests.kit.command import Psych, going_on, read_rest, read_until
from tests.kit.shop import HOSTILE, LONG, SPEC, Shop, asked, parked, script, tools


def part(shown: str, heading: str) -> list[str]:
    """The lines under a heading."""
    lines = shown.split(f"\n{heading}\n")[1].split("\n\n", maxsplit=1)[0]
    return lines.rstrip("\n").split("\n")


def test_a_run_is_told_from_its_header_to_its_totals(psych: Psych, shop: Shop) -> None:
    ended = psych("show", shop.done, "--store", shop.url)
    assert (ended.code, ended.err) == (0, "")
    header = dict(line.split(maxsplit=1) for line in ended.out.split("\n\n")[0].splitlines())
    assert header["run"] == shop.done
    assert (header["state"], header["agent"], header["tenant"]) == ("done", "shop", "acme")
    assert header["admitted"].endswith("Z")
    assert part(ended.out, "conversation") == [
        "  user        where is A1?",
        '  call        lookup_order {"order_id":"A1"}',
        "  result      ok lookup_order: shipped",
        "  assistant   A1 has shipped.",
    ]
    assert part(ended.out, "outcome")[:-1] == [
        "  state       completed",
        "  answer      A1 has shipped.",
        "  attempts    1",
        "  turns       2",
        "  models      2 calls",
        "  tools       1 call",
        "  tokens      20 in, 10 out",
        "  cost        unknown",
    ]


def test_a_failed_run_says_why(psych: Psych, shop: Shop) -> None:
    ended = psych("show", shop.failed, "--store", shop.url)
    assert "state       failed" in ended.out
    assert "failure     auth: the script of this model says auth" in ended.out
    assert "answer" not in ended.out
    assert "tokens      unknown" in ended.out
    assert "models      0 ok, 1 failed" in ended.out


def test_an_answer_that_was_sent_back_stands_with_why(psych: Psych, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sums.db'}"
    total = {"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}
    model = FakeModel().turn(tool_calls=[("nothing", {})]).turn('{"total": "7"}').turn('{"total": 7}')
    spec = SPEC.model_copy(update={"tools": (), "output_schema": total})
    run_id = asyncio.run(asked(url, model, spec=spec))
    shown = psych("show", run_id, "--store", url).out
    told = part(shown, "conversation")
    sent_back = next(place for place, line in enumerate(told) if line.startswith("  repair      "))
    assert '"7"' in told[sent_back - 1]
    assert "does not fit" in told[sent_back]
    assert any("/total" in line for line in told[sent_back:-1])
    assert told[-1] == '  assistant   {"total": 7}'
    assert "  models      3 calls" in shown
    assert "  tools       0 run, 1 refused" in shown


def test_a_wait_is_shown_with_what_an_answer_needs(psych: Psych, shop: Shop) -> None:
    ended = psych("show", shop.waiting, "--store", shop.url)
    wait = next(line for line in part(ended.out, "conversation") if line.startswith("  wait"))
    assert "for a person to allow refund, destructive, until 2" in wait
    outcome = part(ended.out, "outcome")
    assert outcome[:2] == [
        "  state       waiting",
        f"  to answer   psych_runtime.approve, or deny, with {wait.split()[1]}, for refund",
    ]
    assert re.fullmatch(r"  seconds     \d+\.\d so far, and waits since 2\S+Z", outcome[-1])
    assert ended.err == (
        "psych: the Run goes on; to see the rest as it comes:"
        f" psych show {shop.waiting} --store {shop.url} --follow\n"
    )
    assert psych("show", shop.waiting, "--store", shop.url, "--quiet").err == ""


def test_what_people_sent_is_part_of_the_conversation(psych: Psych, shop: Shop) -> None:
    ended = psych("show", shop.steered, "--store", shop.url)
    assert "  steer       and hurry" in part(ended.out, "conversation")


def test_a_hostile_text_moves_no_cursor_and_forges_no_line(psych: Psych, shop: Shop) -> None:
    shown = psych("show", shop.hostile, "--store", shop.url).out
    assert not set(shown) & set(HOSTILE) & {*"\x1b\r\x07\u202e\u2028\x9b\x7f\t"}
    assert "\\x1b[2J\\x1b[1A\\r\\x07\\u202egnissim\\u2028\\x9b31m\\x7f" in shown
    assert (
        len([line for line in shown.splitlines() if line.lstrip(" ")[:6] == "answer" and line[:3] != "   "])
        == 1
    )


def test_a_long_text_is_cut_with_the_command_that_prints_the_rest(psych: Psych, shop: Shop) -> None:
    shown = psych("show", shop.long, "--store", shop.url).out
    rest = f"psych show {shop.long} --store {shop.url} --json"
    assert f"… {2 * 8_000 - 8_192 + len('lookup_order: ')} bytes more: {rest}" in shown
    assert len(shown) < 6_000
    document = psych(*rest.split()[1:]).document()
    assert document["thread"]["messages"][2]["content"] == LONG


def test_json_is_one_document_with_the_four_views(psych: Psych, shop: Shop) -> None:
    ended = psych("show", shop.done, "--store", shop.url, "--json")
    document = ended.document()
    assert (ended.code, ended.err) == (0, "")
    assert list(document) == ["schema", "status", "answer", "thread", "report", "records", "children"]
    assert document["schema"] == "psych.run/1"
    told = asyncio.run(views(shop.url, shop.done))
    assert document == {"schema": "psych.run/1", **told, "records": None, "children": None}
    assert document["report"]["totals"]["cost"] is None


async def views(url: str, run_id: str) -> dict[str, object]:
    """The views as the library gives them."""
    async with psych_runtime.open_store(url) as store:
        return {
            "status": as_json(await psych_runtime.status(store, run_id)),
            "answer": as_json(await psych_runtime.answer(store, run_id)),
            "thread": as_json(await psych_runtime.thread(store, run_id)),
            "report": as_json(await psych_runtime.report(store, run_id)),
        }


def test_records_are_listed_and_in_json_stand_beside_the_views(psych: Psych, shop: Shop) -> None:
    rows = part(psych("show", shop.done, "--store", shop.url, "--records").out, "records")
    document = psych("show", shop.done, "--store", shop.url, "--records", "--json").document()
    assert [row.split()[2] for row in rows] == [record["type"] for record in document["records"]]
    assert [int(row.split()[0]) for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0].split()[2:] == ["run_admitted", "epoch", "0"]
    assert rows[-1].split()[2:] == ["run_settled", "epoch", "1"]


@pytest.mark.parametrize(
    ("run", "code"), [("done", 0), ("failed", 3), ("waiting", 3)], ids=["done", "failed", "waiting"]
)
def test_exit_status_tells_whether_the_run_has_completed(
    psych: Psych, shop: Shop, run: str, code: int
) -> None:
    run_id: str = getattr(shop, run)
    assert psych("show", run_id, "--store", shop.url, "--exit-status").code == code
    assert psych("show", run_id, "--store", shop.url).code == 0


def test_a_foreign_run_and_an_unknown_one_are_told_by_the_same_words(psych: Psych, shop: Shop) -> None:
    assert psych("show", shop.done, "--store", shop.url, "--tenant", "acme").code == 0
    foreign = psych("show", shop.done, "--store", shop.url, "--tenant", "other", "--json")
    unknown = psych("show", "run_nobody", "--store", shop.url, "--json")
    assert (foreign.code, foreign.out) == (unknown.code, unknown.out) == (4, "")
    assert foreign.err == unknown.err.replace("run_nobody", shop.done)
    assert "acme" not in foreign.err


@pytest.mark.parametrize(
    ("store", "code", "says"),
    [
        pytest.param("memory:", 2, "lives and dies in the process that made it", id="memory"),
        pytest.param("oracle://ada:s3cret@h/d", 2, "no store is known for 'oracle'", id="unknown scheme"),
        pytest.param("sqlite:///absent.db", 4, "there is no file", id="absent file"),
        pytest.param("sqlite://runs.db", 2, "write sqlite:///relative.db", id="a slash is missing"),
        pytest.param("sqlite:runs.db", 2, "sqlite:runs.db: write sqlite:///relative.db", id="no slash"),
        pytest.param(" sqlite:///runs.db", 2, "sqlite:///runs.db has blanks around it", id="a blank"),
        pytest.param("SQLite:///absent.db", 4, "absent.db", id="capitals"),
        pytest.param("sqlite:///.", 1, "is a folder", id="a folder"),
        pytest.param("sqlite:///other.txt", 1, "is no SQLite database", id="a file that is no store"),
        pytest.param("sqlite:///empty.db", 1, "schema level 0", id="an empty file"),
    ],
)
def test_a_store_that_cannot_be_read_is_told_and_left_alone(
    psych: Psych, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, code: int, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("no database" * 100)
    (tmp_path / "empty.db").touch()
    ended = psych("show", "run_1", "--store", store)
    assert (ended.code, ended.out) == (code, "")
    assert says in ended.err.splitlines()[0]
    assert "s3cret" not in ended.err
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {
        "other.txt": 1_100,
        "empty.db": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param([" "], "RUN: ", id="RUN"),
        pytest.param(["run_1", "--tenant", "a\nb"], "control characters", id="--tenant"),
    ],
)
def test_what_can_be_no_id_is_a_fault_of_usage(
    psych: Psych, shop: Shop, arguments: list[str], says: str
) -> None:
    ended = psych("show", *arguments, "--store", shop.url)
    assert ended.code == 2
    assert says in ended.err


def test_the_environment_names_the_store(psych: Psych, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYCH_STORE_URL", shop.url)
    assert psych("show", shop.done).code == 0
    assert psych("show", shop.done, "--store", "memory:").code == 2


def test_a_store_that_does_not_answer_in_time_is_unreachable(
    psych: Psych, monkeypatch: pytest.MonkeyPatch
) -> None:
    @asynccontextmanager
    async def silent(url: str, **given: object) -> AsyncGenerator[None]:
        await asyncio.Event().wait()
        yield

    monkeypatch.setattr(psych_runtime, "open_store", silent)
    ended = psych("show", "run_1", "--store", "far://away", "--timeout", "0.05")
    assert (ended.code, ended.out) == (5, "")
    assert ended.err.splitlines() == [
        "psych: the store did not answer within 0.05 seconds",
        "try: psych show run_1 --store far://away --timeout 60",
    ]


def test_reading_changes_nothing(psych: Psych, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    run_id = asyncio.run(asked(url, script("done")))

    def stored() -> list[str]:
        with sqlite3.connect(tmp_path / "runs.db") as connection:
            return list(connection.iterdump())

    before = stored()
    for flags in ([], ["--json"], ["--records"], ["--follow"]):
        assert psych("show", run_id, "--store", url, *flags).code == 0
    assert stored() == before


async def approved(url: str, run_id: str) -> None:
    """Let a person allow what the Run waits for, and a Worker finish it."""
    async with psych_runtime.open_store(url) as store:
        await psych_runtime.approve(store, run_id, by="grace")
        model = FakeModel().turn("Refunded.")
        async with psych_runtime.session(model, store=store, registry=tools(), tenant="acme") as session:
            await session.wait(run_id)


def followed(tmp_path: Path, *flags: str) -> str:
    """What following a Run prints that a person allows to go on meanwhile."""
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    run_id = asyncio.run(parked(url))
    with going_on("show", run_id, "--store", url, "--follow", *flags) as process:
        seen = read_until(process, '"suspended"' if "--json" in flags else "  wait  ")
        asyncio.run(approved(url, run_id))
        rest = read_rest(process)
    assert (rest.code, rest.err) == (0, "")
    return seen + rest.out


def test_a_run_is_followed_to_its_end(tmp_path: Path) -> None:
    shown = followed(tmp_path)
    assert "  decision    approved refund by grace, wait_" in shown
    assert "  result      ok refund: refunded A1" in shown
    assert "  answer      Refunded." in shown


def test_a_run_is_followed_in_json_line_by_line(tmp_path: Path) -> None:
    *log, last = [json.loads(line) for line in followed(tmp_path, "--json").splitlines()]
    assert {line["schema"] for line in log} == {"psych.record/1"}
    assert [line["record"]["seq"] for line in log] == list(range(1, len(log) + 1))
    assert (last["schema"], last["answer"]["text"]) == ("psych.run/1", "Refunded.")


def test_of_runs_that_stand_under_each_other_each_is_told_once(psych: Psych, tmp_path: Path) -> None:
    url, place = logs.url_of(tmp_path), {"root_run_id": "run_root", "delegation_depth": 1}
    runs = {"run_a": "run_b", "run_b": "run_a", "run_c": "run_b"}
    headers = {run_id: {"parent_run_id": parent, **place} for run_id, parent in runs.items()}
    logs.store(url, *(logs.whole(run_id) for run_id in runs), headers=headers)
    document = psych("show", "run_a", "--children", "--store", url, "--json").document()
    assert [child["run_id"] for child in document["children"]] == ["run_b", "run_c"]
