"""Cursors: each leads on where it came from, and nowhere else."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import MAX_CURSOR, Page, RunQuery, cursor_behind, pages, place_of
from psych_runtime_core.ports.runs import Lifecycle, RunState
from psych_runtime_core.records.facts import SuspendReason, TerminalState

AT = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
WIDE = "\N{GRINNING FACE}" * 256
PLACE = (AT, RunId(WIDE))
CONDITIONS: dict[str, Any] = {
    "tenant": "acme",
    "principal": "ada",
    "labels": {"team": "blue", "city": "é"},
    "name": "agent",
    "version_hash": "sha256:a",
    "parent_run_id": "run_1",
    "root_run_id": "run_1",
    "continues_run_id": "run_1",
    "idempotency_key": "order",
    "run_ids": frozenset({"run_1", "run_2"}),
    "states": frozenset(RunState),
    "lifecycles": frozenset(Lifecycle),
    "terminals": frozenset(TerminalState),
    "waits": frozenset(SuspendReason),
    "blobs": False,
    "created_after": AT,
    "created_before": AT,
    "settled_before": AT,
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_cursor_leads_on_in_its_query_alone(name: str) -> None:
    query = RunQuery(**{name: CONDITIONS[name]})
    cursor = cursor_behind(query, PLACE)
    assert len(cursor) <= MAX_CURSOR
    assert place_of(query.model_copy(update={"limit": 7}), cursor) == PLACE
    for other in CONDITIONS.keys() - {name}:
        for conditions in ({other: CONDITIONS[other]}, {name: CONDITIONS[name], other: CONDITIONS[other]}):
            with pytest.raises(ValueError, match="another query"):
                place_of(RunQuery(**conditions), cursor)


def test_conditions_that_say_the_same_have_the_same_cursors() -> None:
    one = RunQuery(created_after=AT, run_ids=frozenset({RunId(f"run_{each}") for each in range(50)}))
    later = AT.astimezone(timezone(timedelta(hours=5)))
    same = RunQuery(
        created_after=later, run_ids=frozenset({RunId(f"run_{each}") for each in range(49, -1, -1)})
    )
    assert cursor_behind(one, PLACE) == cursor_behind(same, PLACE)


@pytest.mark.parametrize("cursor", ["", "x", "|", "x" * 513], ids=["empty", "a word", "a bar", "too long"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(ValueError, match="another query"):
        place_of(RunQuery(tenant="acme"), cursor)


@pytest.mark.parametrize("start", [None, "b"])
async def test_all_pages_come_each_asked_for_when_it_is_wanted(start: str | None) -> None:
    empty: Page[int] = Page((), "b")
    kept = {None: Page((1, 2), "a"), "a": empty, "b": Page((3,))}
    asked: list[str | None] = []

    async def ask(cursor: str | None) -> Page[int]:
        asked.append(cursor)
        return kept[cursor]

    following = pages(ask, start)
    assert await anext(following) == kept[start]
    assert asked == [start]
    rest = [page async for page in following]
    assert asked == ([start] if start else [None, "a", "b"])
    assert rest == [kept[cursor] for cursor in asked[1:]]
