"""The arguments of the public calls, judged before anything is read or written."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

from psych_runtime.shapes import BLOBS, shape_fault
from psych_runtime_core.errors import EntryTooLarge, NotJson
from psych_runtime_core.ids import checked_identifier
from psych_runtime_core.jsonvalue import FrozenDict, Json, encode_json, freeze
from psych_runtime_core.messages import FilePart, ImagePart, Part, TextPart
from psych_runtime_core.ports.blob import BlobStore
from psych_runtime_core.spec.document import Spec
from psych_runtime_core.spoken import payload_of, refused_kinds

T = TypeVar("T")
# What people give a Run beside its input.
MAX_PAYLOAD_BYTES = 256 * 1024


def of_kind(name: str, value: object, kind: type[T]) -> T:
    """`value`, if it is one of `kind`; True and False are no numbers. Raises `TypeError`."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")
    return value


def blob_store(value: object) -> BlobStore | None:
    """`value` as the blobs of a call, or None. Raises `TypeError` for what keeps none."""
    if value is not None and (fault := shape_fault(value, BLOBS)):
        raise TypeError(f"blobs is {fault}")
    return cast("BlobStore | None", value)


def identifier(name: str, value: object) -> str:
    """An id or key of 1 to 256 characters, without control characters and outer blanks."""
    text = of_kind(name, value, str)
    try:
        return checked_identifier(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def short_text(name: str, value: object, most: int) -> str:
    """A text of at most `most` characters."""
    text = of_kind(name, value, str)
    if len(text) > most:
        raise ValueError(f"{name} has {len(text)} characters; give at most {most}")
    return text


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """An int from `least` to `most`."""
    number = of_kind(name, value, int)
    if number < least or (most is not None and number > most):
        upto = "or more" if most is None else f"to {most}"
        raise ValueError(f"{name} is {number}; give {least} {upto}")
    return number


def seconds(name: str, value: object, most: float = math.inf, *, zero: bool = True) -> float:
    """A finite number of seconds from 0 to `most`; 0 itself only with `zero`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    if not (value <= sys.float_info.max and (0 <= value <= most if zero else 0 < value <= most)):
        least, upto = "0 or more" if zero else "more than 0", "" if most == math.inf else f", at most {most}"
        raise ValueError(f"{name} is {value}; give {least}{upto}")
    return float(value)


def mapping(name: str, value: object) -> Mapping[Any, Any]:
    """Any mapping."""
    if not _is_mapping(value):
        raise TypeError(f"{name} must be a mapping, not {type(value).__name__}")
    return value


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def json_object(name: str, value: object, most: int = MAX_PAYLOAD_BYTES) -> FrozenDict:
    """A JSON object of at most `most` bytes, as it cannot change.

    Raises `TypeError` for what is no mapping, `NotJson` for what has no JSON form, `EntryTooLarge`.
    """
    try:
        frozen = freeze(mapping(name, value), surrogates=True)
    except NotJson as error:
        raise error.below(name) from None
    assert isinstance(frozen, FrozenDict), "a mapping freezes to one"
    size = len(encode_json(frozen))
    if size > most:
        raise EntryTooLarge(name, size, most)
    return frozen


Spoken: TypeAlias = str | Mapping[str, Json] | Sequence[Part]


def spoken(name: str, value: object, most: int = MAX_PAYLOAD_BYTES) -> FrozenDict:
    """A JSON object, or a text or parts that stand for `{"message": …}`."""
    if isinstance(value, str):
        return json_object(name, {"message": value}, most)
    if isinstance(value, TextPart | ImagePart | FilePart):
        raise TypeError(f"{name} is one {type(value).__name__}; give a list of parts: [part]")
    if isinstance(value, list | tuple):
        return json_object(name, _payload(name, cast("Sequence[object]", value)), most)
    return json_object(name, value, most)


def _payload(name: str, parts: Sequence[object]) -> Mapping[str, Json]:
    try:
        return payload_of(parts)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def accepted(name: str, payload: Mapping[str, object], spec: Spec) -> None:
    """Raise `ValueError` for parts that the Spec's model is not given."""
    refused = refused_kinds(payload, spec.model.accepts)
    if refused:
        kinds = ", ".join(refused)
        raise ValueError(f"{name}: this agent accepts no {kinds}; name it in ModelRef.accepts")
