"""Text of model calls in progress, one transaction at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Dialect, and_, bindparam, delete, func, insert, select, tuple_

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LIFE, LiveChunk, Room, Tail, Text, text_of
from psych_runtime_sql.driver import Driver, Row, compiled
from psych_runtime_sql.json_columns import json_array, members
from psych_runtime_sql.outcome import Outcome
from psych_runtime_sql.reader import Reader
from psych_runtime_sql.rows import micros
from psych_runtime_sql.small_tables import LIVE
from psych_runtime_sql.statements import run_and_work
from psych_runtime_sql.tables import IS_SETTLED, RUN, WORK

REMOVED_AT_ONCE = 64
CHUNKS_AT_ONCE = 32
"""What one look reads of a text: at most 2 MiB."""

Tails = Mapping[RunId, tuple[Tail, ...]]

_KEY = (LIVE.c.run_id, LIVE.c.call_seq, LIVE.c.reasoning, LIVE.c.start)
_TEXT = _KEY[:3]


class Texts:
    """Operations on live text, each inside one transaction of the driver it is given."""

    def __init__(self, dialect: Dialect) -> None:
        of_runs, of_run = LIVE.c.run_id.in_(members("run_ids")), LIVE.c.run_id == bindparam("of_run")
        of_call = and_(of_run, LIVE.c.call_seq == bindparam("of_call"))
        of_text = and_(of_call, LIVE.c.reasoning == bindparam("of_reasoning"))
        standing = select(RUN.c.run_id, IS_SETTLED, WORK.c.epoch).select_from(run_and_work())
        self._tails = compiled(_tails(of_runs), dialect)
        self._standing = compiled(standing.where(RUN.c.run_id.in_(members("run_ids"))), dialect)
        self._chunks = compiled(_chunks(of_text), dialect)
        self._insert = compiled(insert(LIVE), dialect)
        self._repeated = compiled(delete(LIVE).where(of_text, LIVE.c.start >= bindparam("from")), dialect)
        self._older = compiled(delete(LIVE).where(of_run, LIVE.c.epoch < bindparam("than")), dialect)
        self._stale = compiled(_remove_stale(), dialect)
        self._of_call = compiled(delete(LIVE).where(of_call), dialect)
        self._of_runs = compiled(delete(LIVE).where(of_runs), dialect)

    async def publish(self, driver: Driver, chunks: Sequence[LiveChunk], now: datetime) -> Outcome[int]:
        """Keep what there is room for; how many chunks were dropped."""
        await self._stale.fetch(driver, {"stale": micros(now - LIFE)})
        rooms = await self._rooms(driver, {chunk.run_id for chunk in chunks}, now)
        kept = [(chunk, size) for chunk in chunks if (size := rooms[chunk.run_id].take(chunk)) is not None]
        for run_id, room in rooms.items():
            if room.has_older:
                await self._older.fetch(driver, {"of_run": run_id, "than": room.epoch})
        for chunk, size in kept:
            if chunk.epoch == rooms[chunk.run_id].epoch:
                await self._put(driver, chunk, size, now)
        return Outcome(len(chunks) - len(kept), texts=frozenset(chunk.run_id for chunk, _ in kept))

    async def tails(self, driver: Driver, run_ids: Collection[RunId], now: datetime) -> Tails:
        """Where the texts of each Run end, but for those that are too old."""
        values = {"run_ids": json_array(run_ids), "stale": micros(now - LIFE)}
        tails: dict[RunId, tuple[Tail, ...]] = {}
        for run_id, call_seq, reasoning, *end in await self._tails.fetch(driver, values):
            tails[run_id] = (*tails.get(run_id, ()), Tail((call_seq, bool(reasoning)), *end))
        return tails

    async def read_on(self, driver: Driver, reader: Reader, now: datetime) -> tuple[Reader, list[LiveChunk]]:
        """The next chunks for a reader, of one text, and how far it has read then."""
        ahead = replace(reader)
        tails = await self.tails(driver, [ahead.run_id], now)
        for tail in ahead.look_at(tails.get(ahead.run_id, ())):
            values = _text(ahead.run_id, tail.text) | {"end": ahead.ends[tail.text]}
            rows = await self._chunks.fetch(driver, values)
            found = [_chunk(ahead.run_id, tail.text, row) for row in rows]
            if chunks := [chunk for chunk in found if ahead.takes(chunk)]:
                return ahead, chunks
        return ahead, []

    async def clear(self, driver: Driver, run_id: RunId, call_seq: int) -> Outcome[None]:
        """Free what a call held."""
        await self._of_call.fetch(driver, {"of_run": run_id, "of_call": call_seq})
        return Outcome(None)

    async def forget(self, driver: Driver, run_ids: Iterable[RunId]) -> Outcome[None]:
        """Free all that is held of these Runs."""
        await self._of_runs.fetch(driver, {"run_ids": json_array(run_ids)})
        return Outcome(None)

    async def _put(self, driver: Driver, chunk: LiveChunk, size: int, now: datetime) -> None:
        """Store a chunk over what it repeats."""
        await self._repeated.fetch(driver, _text(chunk.run_id, text_of(chunk)) | {"from": chunk.offset})
        await self._insert.fetch(driver, _row(chunk, size, now))

    async def _rooms(self, driver: Driver, run_ids: Collection[RunId], now: datetime) -> Mapping[RunId, Room]:
        """The room of each Run, stored or not."""
        tails = await self.tails(driver, run_ids, now)
        rows = await self._standing.fetch(driver, {"run_ids": json_array(run_ids)})
        standing = {run_id: (bool(is_settled), epoch or 0) for run_id, is_settled, epoch in rows}
        rooms: dict[RunId, Room] = {}
        for run_id in run_ids:
            is_over, epoch = standing.get(run_id, (False, 0))
            rooms[run_id] = Room.of(tails.get(run_id, ()), epoch, is_over=is_over)
        return rooms


def _tails(of_runs: ColumnElement[bool]) -> Any:
    """The last row of each text. Which one that is, the key alone tells; most rows are not looked at."""
    last = (
        select(*_TEXT, func.max(LIVE.c.start).label("start")).where(of_runs).group_by(*_TEXT).subquery("last")
    )
    same = and_(*(column == last.c[column.name] for column in _KEY))
    return (
        select(*_KEY, LIVE.c.length, LIVE.c.size, LIVE.c.epoch)
        .join_from(last, LIVE, same)
        .where(LIVE.c.at > bindparam("stale"))
        .order_by(*_TEXT)
    )


def _chunks(of_text: ColumnElement[bool]) -> Any:
    """Chunks of a text, from the one that goes on at `end`, or just ends there."""
    first = select(func.max(LIVE.c.start)).where(of_text, LIVE.c.start <= bindparam("end")).scalar_subquery()
    columns = (LIVE.c.lane, LIVE.c.epoch, LIVE.c.start, LIVE.c.length, LIVE.c.body)
    return select(*columns).where(of_text, LIVE.c.start >= first).order_by(LIVE.c.start).limit(CHUNKS_AT_ONCE)


def _remove_stale() -> Any:
    """Of the oldest chunks those go whose text went on no more: of what is still told, none."""
    oldest = select(*_KEY).where(LIVE.c.at <= bindparam("stale")).order_by(LIVE.c.at).limit(REMOVED_AT_ONCE)
    last = LIVE.alias("last")
    same = and_(*(column == last.c[column.name] for column in _TEXT))
    ended = select(last.c.at).where(same).order_by(last.c.start.desc()).limit(1).scalar_subquery()
    return delete(LIVE).where(tuple_(*_KEY).in_(oldest), ended <= bindparam("stale"))


def _text(run_id: RunId, text: Text) -> dict[str, object]:
    return {"of_run": run_id, "of_call": text[0], "of_reasoning": text[1]}


def _row(chunk: LiveChunk, size: int, now: datetime) -> dict[str, object]:
    return {
        "run_id": chunk.run_id,
        "call_seq": chunk.call_seq,
        "reasoning": chunk.reasoning,
        "start": chunk.offset,
        "lane": chunk.lane,
        "epoch": chunk.epoch,
        "length": chunk.length,
        "size": size,
        "body": chunk.body,
        "at": micros(now),
    }


def _chunk(run_id: RunId, text: Text, row: Row) -> LiveChunk:
    lane, epoch, start, length, body = row
    call_seq, reasoning = text
    return LiveChunk(run_id, lane, call_seq, epoch, reasoning, start, length, body)
