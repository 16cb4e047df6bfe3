"""The lines of an export file: each an item, in JSON, and the last one the digest of those before."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from psych_runtime_core.errors import RecordTooNew
from psych_runtime_core.ids import Identifier
from psych_runtime_core.jsonvalue import decode_json, encode_json
from psych_runtime_core.ports.blob import MAX_BLOB_BYTES, check_blob
from psych_runtime_core.ports.runs import MAX_COUNT, RunHeader
from psych_runtime_core.records import Entry, Head
from psych_runtime_core.records.base import Bytes, FactModel, Instant
from psych_runtime_core.version import Version

FORM = 1
MAX_LINE_BYTES = 8 * 1024 * 1024
# In base64 such a piece still fits a line.
BLOB_PIECE_BYTES = 4 * 1024 * 1024
# What is true of a Run in its store alone: who holds it, how often that was, and when somebody looks.
NOT_EXPORTED = {"lease", "epoch", "crashes", "ready_at"}
# No Run lives long enough to be claimed so often, and there is room above it for the claims to come.
MAX_EPOCH = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Start:
    """The first line. `redacted`: no text, argument or result is in the file."""

    redacted: bool = False


@dataclass(frozen=True, slots=True)
class BlobPiece:
    """A part of a blob of the Run, by the last part of its key."""

    call_id: str
    content_type: str
    metadata: Mapping[str, str]
    offset: int
    data: bytes


Item = Start | RunHeader | Version | Entry | BlobPiece
"""What stands in a line before the last."""


def line_of(item: Item) -> bytes:
    """The line of an item, with its end."""
    return encode_json(_document(item)) + b"\n"


def begins_entry(line: bytes) -> bool:
    """Whether a line begins as that of an entry does."""
    return line.startswith(b'{"entry":')


def item_of(line: bytes) -> Item:
    """The item of a line. Raises `ValueError` for what is none, `RecordTooNew` for a file of a newer form."""
    document = cast("Mapping[str, Any]", decode_json(line))
    kind = next((kind for kind in _READERS if isinstance(document, dict) and kind in document), None)
    if kind is None:
        raise ValueError("a line is no item of an export file")
    try:
        return _READERS[kind](document)
    except ValidationError as error:
        raise ValueError(f"a {kind} line is none: {_first_of(error)}") from error
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"a {kind} line is none: {error}") from error


@dataclass(slots=True)
class Tally:
    """What the last line says of those before it."""

    entries: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def add(self, line: bytes) -> bytes:
        """Count a line, and hand it back."""
        self.entries += begins_entry(line)
        self._digest.update(line)
        return line

    @property
    def end_line(self) -> bytes:
        end = {"entries": self.entries, "sha256": self._digest.hexdigest()}
        return encode_json({"end": end}) + b"\n"


# --- lines as they must be -----------------------------------------------------------------------------


def _encodable(text: str) -> str:
    text.encode()
    return text


_Whole = Annotated[int, Field(strict=True, ge=0, le=MAX_COUNT)]
_Digest = Annotated[bytes, BeforeValidator(bytes.fromhex), Field(min_length=32, max_length=32)]
_Text = Annotated[str, AfterValidator(_encodable)]


class _HeadLine(FactModel):
    """Where a log ends."""

    seq: _Whole
    digest: _Digest


class _EntryLine(FactModel):
    """An entry, its body in base64 and its digest in hex."""

    seq: _Whole
    type: Identifier
    at: Instant
    epoch: Annotated[int, Field(strict=True, ge=0, le=MAX_EPOCH)]
    body: Bytes
    digest: _Digest


class _PieceLine(FactModel):
    """A part of a blob, in base64."""

    blob: Identifier
    content_type: Identifier
    metadata: Mapping[_Text, _Text] = {}
    offset: Annotated[int, Field(strict=True, ge=0, le=MAX_BLOB_BYTES)]
    data: Bytes


# --- items as documents --------------------------------------------------------------------------------


def _document(item: Item) -> Mapping[str, Any]:
    match item:
        case Start():
            return {"psych_export": FORM, "redacted": item.redacted}
        case RunHeader():
            return {"run": _header_document(item)}
        case Version():
            # When a store came to know it is no part of what it is.
            return {"version": decode_json(replace(item, published_at=None).encode())}
        case Entry():
            return {"entry": _entry_document(item)}
        case BlobPiece():
            metadata = {"metadata": item.metadata} if item.metadata else {}
            return {
                "blob": item.call_id,
                "content_type": item.content_type,
                "offset": item.offset,
                "data": b64encode(item.data).decode(),
                **metadata,
            }


def _header_document(header: RunHeader) -> Mapping[str, Any]:
    told = header.model_dump(mode="json", exclude={*NOT_EXPORTED, "request", "head"}, exclude_defaults=True)
    head = {"seq": header.head.seq, "digest": header.head.digest.hex()}
    return {**told, "request": header.request.hex(), "head": head}


def _entry_document(entry: Entry) -> Mapping[str, Any]:
    return {
        "seq": entry.seq,
        "type": entry.type,
        "at": entry.at.isoformat(),
        "epoch": entry.epoch,
        "digest": entry.digest.hex(),
        "body": b64encode(entry.body).decode(),
    }


def _start(document: Mapping[str, Any]) -> Start:
    for start in (Start(), Start(redacted=True)):
        if document == _document(start):
            return start
    form = document["psych_export"]
    if isinstance(form, int) and form > FORM:
        raise RecordTooNew("an export file", 0, "psych_export", form)
    raise ValueError("the first line is none of an export file")


def _header(document: Mapping[str, Any]) -> RunHeader:
    told = {**_alone(document, "run")}
    if alien := NOT_EXPORTED & told.keys():
        raise ValueError(f"no file says of its Run: {', '.join(sorted(alien))}")
    head = _HeadLine.model_validate(told["head"])
    told |= {"request": bytes.fromhex(told["request"]), "head": Head(head.seq, head.digest)}
    return RunHeader.model_validate(told)


def _version(document: Mapping[str, Any]) -> Version:
    return Version.decode(encode_json(_alone(document, "version")))


def _entry(document: Mapping[str, Any]) -> Entry:
    return Entry(**dict(_EntryLine.model_validate(_alone(document, "entry"))))


def _piece(document: Mapping[str, Any]) -> BlobPiece:
    told = _PieceLine.model_validate(document)
    check_blob(told.content_type, told.metadata)
    return BlobPiece(told.blob, told.content_type, told.metadata, told.offset, told.data)


def _alone(document: Mapping[str, Any], kind: str) -> Any:
    if len(document) != 1:
        raise ValueError(f"beside its {kind} it says: {', '.join(sorted(document.keys() - {kind}))}")
    return document[kind]


def _first_of(error: ValidationError) -> str:
    """Where the first thing is wrong and why, without what stood there."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Item]] = {
    "psych_export": _start,
    "run": _header,
    "version": _version,
    "entry": _entry,
    "blob": _piece,
}
