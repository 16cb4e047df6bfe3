"""`psych runs`: which Runs it lists, page by page, and the flags that say which."""

import enum
import io
import json
import re
import sys
import typing
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import psych_runtime
from psych_runtime import Page, RunHeader, RunId, RunQuery, Scope
from psych_runtime.cli import verbs
from psych_runtime.cli.flags import moment
from psych_runtime.cli.headers import age
from psych_runtime.cli.parser import parser
from psych_runtime.cli.query import FLAG_OF, query_of, words_of
from psych_runtime.testing import LogBuilder
from psych_runtime_core.ports.queries import cursor_behind
from tests.kit.command import PSYCH, Psych, run
from tests.kit.logs import ACME, family, store, url_of, whole
from tests.kit.shop import Shop

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Seven Runs: a family of four, another tenant's, one that goes on, and one with a hostile agent."""
    address = url_of(tmp_path_factory.mktemp("runs"))
    family(address)
    open_run = LogBuilder("run_open", scope=Scope(tenant="rival")).admitted()
    store(
        address,
        whole("run_rival", Scope(tenant="rival")),
        open_run,
        whole("run_hostile"),
        headers={"run_hostile": {"name": "x\x1b[2J\nrun_forged  clerk  done", "idempotency_key": "k 1"}},
    )
    return address


def ids(listed: str) -> list[str]:
    return [line.split()[0] for line in listed.splitlines() if line and not line.startswith("next")]


def test_a_run_is_a_line_of_id_agent_state_tenant_and_age(psych: Psych, url: str) -> None:
    ended = psych("runs", "--store", url, "--run", "run_rival", "--run", "run_root")
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[:-1] for line in ended.out.splitlines()] == [
        ["run_root", "clerk", "done", "acme"],
        ["run_rival", "clerk", "done", "rival"],
    ]
    assert len({line.index("done") for line in ended.out.splitlines()}) == 1, "columns are aligned"


def test_a_hostile_name_forges_no_line(psych: Psych, url: str) -> None:
    shown = psych("runs", "--store", url, "--run", "run_hostile").out
    assert len(shown.splitlines()) == 1
    assert "x\\x1b[2J\\nrun_forged" in shown


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        pytest.param(["--tenant", "rival"], {"run_rival", "run_open"}, id="tenant"),
        pytest.param(["--tenant", "rival", "--lifecycle", "queued"], {"run_open"}, id="two conditions"),
        pytest.param(["--state", "runnable", "--state", "running"], {"run_open"}, id="one of two states"),
        pytest.param(["--parent", "run_root"], {"run_left", "run_right"}, id="parent"),
        pytest.param(["--root", "run_root"], {"run_root", "run_left", "run_right", "run_deep"}, id="root"),
        pytest.param(["--tenant", "acme", "--idempotency-key", "k 1"], {"run_hostile"}, id="key"),
        pytest.param(["--tenant", "acme", "--label", "plan=free"], set[str](), id="label"),
        pytest.param(["--since", "2h"], set[str](), id="since"),
        pytest.param(
            ["--tenant", "rival", "--settled-before", "2020-01-01"], set[str](), id="settled before"
        ),
        pytest.param(["--tenant", "rival", "--blobs"], set[str](), id="blobs"),
    ],
)
def test_flags_are_conditions(psych: Psych, url: str, flags: list[str], found: set[str]) -> None:
    ended = psych("runs", "--store", url, *flags)
    assert (ended.code, set(ids(ended.out))) == (0, found)


def test_pages_follow_each_other_and_all_of_them_are_the_whole(psych: Psych, url: str) -> None:
    whole_list = ids(psych("runs", "--store", url).out)
    assert len(whole_list) == 7
    assert ids(psych("runs", "--store", url, "--limit", "3", "--all").out) == whole_list
    found: list[str] = []
    cursor: list[str] = []
    pages = 0
    while pages == 0 or cursor:
        document = psych("runs", "--store", url, "--limit", "3", "--json", *cursor).document()
        found += [listed["run_id"] for listed in document["runs"]]
        cursor = ["--cursor", document["next"]] if document["next"] else []
        pages += 1
        assert pages <= 3
    assert found == whole_list


def test_the_command_of_the_next_page_is_told_with_the_instants_that_ages_meant(
    psych: Psych, url: str
) -> None:
    ended = psych("runs", "--store", url, "--limit", "4", "--since", "5000w", "--tenant", "acme")
    cursor = ended.out.splitlines()[-1].removeprefix("next  ")
    command = ended.err.removeprefix("psych: for the next page: ")
    assert "5000w" not in command
    rest = run(command.replace("psych", PSYCH, 1))
    assert rest.code == 0
    assert len(ids(rest.out)) == 1
    assert psych("runs", "--store", url, "--cursor", cursor).code == 2, "another query's cursor"


def test_every_key_of_a_listed_run_is_there(psych: Psych, url: str) -> None:
    (listed,) = psych("runs", "--store", url, "--run", "run_deep", "--json").document()["runs"]
    assert (listed["parent_run_id"], listed["root_run_id"]) == ("run_left", "run_root")
    assert listed["scope"] == {"tenant": "acme", "principal": "ada", "labels": {"plan": "pro"}}
    assert (listed["lifecycle"], listed["state"], listed["terminal"]) == ("done", "settled", "completed")
    assert len(listed["head"]["digest"]) == 64
    assert "request" not in listed
    assert set(listed) | {"request"} == {*RunHeader.model_fields, "lifecycle", "state"}


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--limit", "0"], "'0' is no number from 1 to 1000"),
        (["--limit", "١"], "is no number"),
        (["--since", "yesterday"], "neither an age such as"),
        (["--since", "99999999w"], "neither an age such as"),
        (["--label", "plan"], "is no NAME=VALUE"),
        (["--lifecycle", "sleeping"], "invalid choice: 'sleeping'"),
        (["--cursor", "x"], "this cursor is of another query"),
        ([word for number in range(1_001) for word in ("--run", f"x{number}")], "--run: "),
    ],
    ids=["limit", "digits", "since", "too long ago", "label", "lifecycle", "cursor", "too many"],
)
def test_what_cannot_be_asked_is_a_fault_of_usage(
    psych: Psych, url: str, flags: list[str], says: str
) -> None:
    ended = psych("runs", "--store", url, *flags)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err.splitlines()[0]


def test_the_children_of_a_run_are_shown_with_theirs(psych: Psych, url: str) -> None:
    shown = psych("show", "run_root", "--store", url, "--children").out
    lines = shown.split("\nchildren\n")[1].splitlines()
    assert sorted(line.split() for line in lines) == [
        ["run_deep", "done", "clerk,", "depth", "2"],
        ["run_left", "done", "clerk,", "depth", "1"],
        ["run_right", "done", "clerk,", "depth", "1"],
    ]
    document = psych("show", "run_left", "--store", url, "--children", "--json").document()
    assert [child["run_id"] for child in document["children"]] == ["run_deep"]


# --- flags and queries -----------------------------------------------------------------------------------


def test_each_condition_has_one_flag() -> None:
    assert set(FLAG_OF) == set(RunQuery.model_fields)
    assert len(set(FLAG_OF.values())) == len(FLAG_OF)


@pytest.mark.parametrize("field", ["states", "lifecycles", "terminals", "waits"])
def test_the_words_that_a_flag_takes_are_those_that_there_are(field: str) -> None:
    annotation = typing.get_type_hints(RunQuery)[field]
    (words,) = [
        kind
        for one in typing.get_args(annotation)
        for kind in typing.get_args(one)
        if issubclass(kind, enum.Enum)
    ]
    flag = next(each for each in verbs.QUERY if each.settings.get("dest") == field)
    assert flag.settings["choices"] == tuple(word.value for word in words)


EVERYTHING = (
    *("--tenant", "a b", "--principal", "p", "--label", "x=1=2", "--label", "y=", "--name", "n"),
    *("--version-hash", "h", "--parent", "p", "--root", "r", "--continues", "c", "--idempotency-key", "k"),
    *("--run", "r1", "--run", "r2", "--state", "running", "--lifecycle", "done", "--terminal", "failed"),
    *("--wait", "approval", "--no-blobs", "--since", "2026-01-01", "--until", "2026-02-01T10:00+02:00"),
    *("--settled-before", "2h", "--limit", "7"),
)


def test_a_query_is_said_by_its_flags() -> None:
    query = query_of(parser().parse_args(["runs", *EVERYTHING]))
    assert set(query.conditions) == set(RunQuery.model_fields) - {"limit"}
    assert (query.limit, query.labels) == (7, {"x": "1=2", "y": ""})
    assert query_of(parser().parse_args(["runs", *words_of(query)])) == query


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T10:00:00Z", datetime(2026, 1, 1, 10, tzinfo=UTC)),
        ("2026-01-01T10:00+02:00", datetime(2026, 1, 1, 8, tzinfo=UTC)),
    ],
)
def test_a_moment_is_a_date_or_a_time(text: str, at: datetime) -> None:
    assert moment(text) == at


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7_200), ("1d", 86_400)])
def test_a_moment_is_so_long_ago(text: str, seconds: int) -> None:
    before = datetime.now(UTC)
    assert timedelta() <= moment(text) - (before - timedelta(seconds=seconds)) < timedelta(seconds=10)


@pytest.mark.parametrize(
    ("seconds", "told"), [(-5, "0s"), (59, "59s"), (60, "1m"), (7_199, "1h"), (86_400 * 40, "40d")]
)
def test_an_age_is_told_in_the_greatest_unit_that_fits(seconds: int, told: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == told


# --- many Runs -------------------------------------------------------------------------------------------


HEADER = whole().header()


class Endless:
    """A store of as many Runs as are asked for, made page by page."""

    def __init__(self, pages: int) -> None:
        self.pages, self.calls = pages, 0

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        self.calls += 1
        items = (HEADER.model_copy(update={"run_id": f"run_{self.calls}"}),) * query.limit
        last = self.calls == self.pages
        return Page(items, None if last else cursor_behind(query, (NOW, RunId("x"))))


class Told(io.StringIO):
    """A stdout that counts the ids it is given, and keeps none."""

    count = 0

    def write(self, text: str) -> int:
        self.count += len(re.findall(r"\btold_\d", text))
        return len(text)


class Watched(Endless):
    """Notes at each page what this process holds; the pages before are all told by then."""

    def __init__(self, pages: int, told: Told) -> None:
        super().__init__(pages)
        self.told, self.held = told, list[int]()

    async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
        first = self.calls * query.limit
        assert self.told.count == first
        self.held.append(sys.getallocatedblocks())
        page = await super().find_runs(query, cursor)
        ids = [f"told_{first + number}" for number in range(query.limit)]
        return Page(tuple(HEADER.model_copy(update={"run_id": run_id}) for run_id in ids), page.cursor)


# JSON takes ten times as long.
@pytest.mark.parametrize(
    ("pages", "flags"), [(100, []), (10, ["--json"])], ids=["100 000 in text", "10 000 in json"]
)
def test_nothing_is_held_of_runs_that_are_told(
    psych: Psych, monkeypatch: pytest.MonkeyPatch, pages: int, flags: list[str]
) -> None:
    told = Told()
    store = Watched(pages, told)

    @asynccontextmanager
    async def opened(url: str, **given: Any) -> AsyncGenerator[Watched]:
        yield store

    monkeypatch.setattr(psych_runtime, "open_store", opened)
    monkeypatch.setattr("sys.stdout", told)
    assert psych("runs", "--store", "far://away", "--all", "--limit", "1000", *flags).code == 0
    assert told.count == pages * 1_000
    assert len(store.held) == pages, "a page is one call"
    # The first pages load what is used; one object of each Run would be as many more as there are Runs.
    assert max(store.held[2:]) - store.held[2] < 2_000


def test_a_document_that_is_cut_off_is_none(psych: Psych, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Endless):
        async def find_runs(self, query: RunQuery, cursor: str | None = None) -> Page[RunHeader]:
            if self.calls:
                raise psych_runtime.StoreUnavailable("find_runs", "gone", "none")
            return await super().find_runs(query, cursor)

    @asynccontextmanager
    async def opened(url: str, **given: Any) -> AsyncGenerator[Endless]:
        yield Failing(9)

    monkeypatch.setattr(psych_runtime, "open_store", opened)
    ended = psych("runs", "--store", "far://away", "--all", "--json", "--limit", "5")
    assert ended.code == 5
    assert ended.error()["type"] == "StoreUnavailable"
    with pytest.raises(json.JSONDecodeError):
        json.loads(ended.out)


def test_the_shop_is_listed_newest_first(psych: Psych, shop: Shop) -> None:
    assert ids(psych("runs", "--store", shop.url, "--tenant", ACME.tenant).out) == [
        *(shop.steered, shop.waiting, shop.failed, shop.long, shop.hostile, shop.done)
    ]
    assert ids(psych("runs", "--store", shop.url, "--wait", "approval").out) == [shop.waiting]
