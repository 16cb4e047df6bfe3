"""What an operation needs of a database: one connection, inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

Row: TypeAlias = tuple[Any, ...]


class Driver(Protocol):
    """A connection that runs statements. Whoever made it begins and ends its transaction."""

    async def fetch(self, sql: str, params: Sequence[object] = ()) -> Sequence[Row]:
        """All rows of a statement with positional parameters, none where it returns none."""
        ...


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in a dialect: its text, and which value stands at each position."""

    sql: str
    names: tuple[str, ...]
    fixed: Mapping[str, object]

    def params(self, values: Mapping[str, object]) -> tuple[object, ...]:
        """The parameters in order. Raises `KeyError` for one that is not given."""
        return tuple([values[name] if name in values else self.fixed[name] for name in self.names])

    async def fetch(self, driver: Driver, values: Mapping[str, object]) -> Sequence[Row]:
        """The rows it finds with these values."""
        return await driver.fetch(self.sql, self.params(values))


def compiled(clause: ClauseElement, dialect: Dialect) -> Statement:
    """A Core statement as text, for a dialect with positional parameters."""
    text = clause.compile(dialect=dialect)
    assert isinstance(text, SQLCompiler), "only statements are compiled here"
    fixed = {name: value for name, value in text.params.items() if value is not None}
    return Statement(str(text), tuple(text.positiontup or ()), fixed)
