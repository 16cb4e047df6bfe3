"""The conditions of `psych runs`, and the flags that say them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, cast

from pydantic import ValidationError

from psych_runtime.cli.exits import CommandError
from psych_runtime.cli.verbs import QUERY
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.records.tree import instant

FLAG_OF: Mapping[str, str] = {
    each.settings.get("dest", each.name.removeprefix("--").replace("-", "_")): each.name for each in QUERY
}
"""The flag of each field of `RunQuery`."""


def query_of(options: Namespace) -> RunQuery:
    """The query that the flags say. Raises `CommandError` for what cannot be asked."""
    given = {field: getattr(options, field) for field in FLAG_OF}
    said = {field: value for field, value in given.items() if value is not None}
    if "labels" in said:
        said["labels"] = dict(said["labels"])
    try:
        return RunQuery.model_validate(said)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        what = f"{FLAG_OF[str(fault['loc'][0])]}: {fault['msg']}"
        raise CommandError(what, "psych runs --help") from None


def words_of(query: RunQuery) -> list[str]:
    """The flags that say `query`: ages become the instants that they meant."""
    return [word for field, value in query for word in _words(field, value)]


def _words(field: str, value: object) -> Iterator[str]:
    if value is None or value == RunQuery.model_fields[field].default:
        return
    if isinstance(value, bool):
        yield f"--{'' if value else 'no-'}{field}"
        return
    for each in _each(value):
        yield from (FLAG_OF[field], each)


def _each(value: object) -> list[str]:
    if isinstance(value, frozenset):
        return sorted(map(_text, cast("frozenset[object]", value)))
    if isinstance(value, Mapping):
        return [f"{name}={text}" for name, text in cast("Mapping[str, Any]", value).items()]
    return [_text(value)]


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return instant(value)
    return str(value.value if isinstance(value, Enum) else value)
