"""The arguments of a call, out of the text that a model wrote."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime_core.jsonvalue import EMPTY_OBJECT, Json, JsonObject, decode_json, freeze

MAX_ARGUMENTS_BYTES = 1024 * 1024
"""What the arguments of one call may have, as JSON in UTF-8."""


def read_arguments(text: str) -> JsonObject:
    """The one JSON object that `text` is, a blank one being empty.

    Raises `ValueError` for an array, for JSON in JSON text, for anything behind the object, for NaN, for a
    key that stands twice and for more than 128 levels; its text says what is wrong.
    """
    if not text.strip():
        return EMPTY_OBJECT
    value: Json = freeze(decode_json(text, unique_keys=True), surrogates=True)
    if not isinstance(value, Mapping):
        raise ValueError(f"{_called(value)} in place of an object")
    return value


def fault_of(text: str) -> str:
    """Why `text` is no arguments; `""` where it is."""
    try:
        read_arguments(text)
    except ValueError as error:
        return str(error)
    return ""


def arguments_or_text(text: str) -> JsonObject | str:
    """The object that `text` is, else `text` as it stands."""
    try:
        return read_arguments(text)
    except ValueError:
        return text


def _called(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case _:
            return "an array"
