"""Trees of settled Runs: which ones may go, the commit that makes them invisible, and scrubbing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Dialect,
    FromClause,
    and_,
    delete,
    exists,
    false,
    null,
    or_,
    select,
    true,
    tuple_,
    update,
)

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.ports.trees import TreeId, tree_of
from psych_runtime_sql.admissions import Admissions
from psych_runtime_sql.driver import Driver, compiled
from psych_runtime_sql.finder import Finder, Found, search_of
from psych_runtime_sql.json_columns import json_array, members
from psych_runtime_sql.marks import Mark, MarkKind, Marks
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.rows import header_of
from psych_runtime_sql.statements import headers
from psych_runtime_sql.tables import IS_SETTLED, RUN
from psych_runtime_sql.walks import Place, newest_first, oldest_settled

Tree = list[RunHeader]
"""All Runs of a tree: children before their parents, and last its top."""

SCRUBBED_AT_ONCE = 1_000


class Trees:
    """Operations on settled Runs, each inside one transaction of the driver it is given."""

    def __init__(self, admissions: Admissions, marks: Marks, finder: Finder, dialect: Dialect) -> None:
        self._admissions, self._marks, self._finder = admissions, marks, finder
        named = RUN.c.run_id.in_(members("run_ids"))
        self._over = compiled(select(*_TREE).where(named, _is_top(), *_tree_is_over()), dialect)
        self._delete = compiled(delete(RUN).where(named).returning(RUN.c.run_id), dialect)
        self._trees = compiled(_trees(), dialect)
        self._scrub = compiled(_scrub().where(named), dialect)

    async def that_are_over(
        self, driver: Driver, query: RunQuery, behind: Place | None
    ) -> tuple[list[Tree], Place | None]:
        """The next trees that may go and whose top matches; where to look on, None at the end."""
        search = search_of(query, oldest_settled(query), _is_top(), *_tree_is_over())
        found = await self._finder.look(driver, search, (*_TREE, RUN.c.run_id), behind)
        trees: dict[TreeId, Tree] = {(row[0], RunId(row[1])): [] for row in found.rows}
        for row in await self._trees.fetch(driver, {"tops": json_array(row[2] for row in found.rows)}):
            header = header_of(row)
            trees[tree_of(header)].append(header)
        return list(trees.values()), found.behind

    async def remove(
        self, driver: Driver, runs: Sequence[RunHeader], tops: Iterable[RunId], now: datetime
    ) -> Outcome[tuple[Mark, ...]]:
        """Make Runs of these tops invisible; their marks.

        A tree stays that somebody went on from since it was seen, and one whose root came meanwhile.
        """
        over = {*map(tuple, await self._over.fetch(driver, {"run_ids": json_array(tops)}))}
        run_ids = [header.run_id for header in runs if tree_of(header) in over]
        await self._marks.put_purge(driver, run_ids, now)
        await self._admissions.let_go(driver, run_ids, now)
        gone = {run_id for (run_id,) in await self._delete.fetch(driver, {"run_ids": json_array(run_ids)})}
        went = (header for header in runs if header.run_id in gone)
        return Outcome(tuple(Mark(each.run_id, MarkKind.PURGE, each.scope.tenant, now) for each in went))

    async def with_identity(self, driver: Driver, query: RunQuery, behind: Place | None) -> Found:
        """The next settled matches that are not scrubbed, their ids."""
        search = search_of(query, newest_first(query), IS_SETTLED, RUN.c.erased == false())
        several = replace(search, limit=SCRUBBED_AT_ONCE)
        return await self._finder.look(driver, several, (RUN.c.run_id,), behind)

    async def scrub(self, driver: Driver, run_ids: Sequence[RunId], now: datetime) -> Outcome[int]:
        """Take out of these headers what they say about a person; of how many."""
        rows = await self._scrub.fetch(driver, {"run_ids": json_array(run_ids)})
        await self._admissions.let_go(driver, [row[0] for row in rows], now)
        return Outcome(len(rows))


_TREE = (RUN.c.tenant, RUN.c.root_run_id)


def _is_top() -> ColumnElement[bool]:
    """It is its tree's root or, where none is stored, the oldest of it: what `top_of` says."""
    root, other = RUN.alias("root"), RUN.alias("other")
    of_tree = and_(other.c.root_run_id == RUN.c.root_run_id, _of_tenant(other))
    stored = and_(
        root.c.run_id == RUN.c.root_run_id,
        root.c.root_run_id == RUN.c.root_run_id,
        _of_tenant(root),
    )
    # With a bare column of text, SQLite looks up the first of the two alone, and walks all that are as old.
    place = tuple_(RUN.c.created_at, RUN.c.run_id.concat(""))
    is_older = tuple_(other.c.created_at, other.c.run_id) < place
    is_oldest = and_(~exists().where(stored), ~exists().where(of_tree, is_older))
    return or_(RUN.c.run_id == RUN.c.root_run_id, is_oldest)


def _tree_is_over() -> tuple[ColumnElement[bool], ...]:
    """Of a top: all Runs of its tree are settled, and all that continue one of them."""
    member, heir = RUN.alias("member"), RUN.alias("heir")
    of_tree = and_(member.c.root_run_id == RUN.c.root_run_id, _of_tenant(member))
    continues = and_(heir.c.continues_run_id == member.c.run_id, _of_tenant(heir))
    return (
        IS_SETTLED,
        ~exists().where(of_tree, member.c.terminal.is_(None)),
        ~exists().where(of_tree, continues, heir.c.terminal.is_(None)),
    )


def _of_tenant(other: FromClause) -> ColumnElement[bool]:
    """Whether both are of one tenant, in words that no index answers: a tree is the narrower range."""
    return other.c.tenant.concat("") == RUN.c.tenant.concat("")


def _trees() -> Any:
    """The headers of whole trees, by their tops: children before their parents."""
    top = RUN.alias("top")
    named = and_(top.c.run_id.in_(members("tops")), RUN.c.root_run_id == top.c.root_run_id)
    from_the_leaves = (RUN.c.run_id == top.c.run_id, RUN.c.delegation_depth.desc(), RUN.c.run_id.desc())
    return headers().where(named, _of_tenant(top)).order_by(*from_the_leaves)


def _scrub() -> Any:
    """What a header of a settled Run says about a person goes."""
    nobody = {"principal": null(), "labels": "{}", "idempotency_key": null(), "request": bytes(32)}
    return (
        update(RUN)
        .where(IS_SETTLED, RUN.c.erased == false())
        .values(**nobody, erased=true())
        .returning(RUN.c.run_id)
    )
