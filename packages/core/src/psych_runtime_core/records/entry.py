"""Bytes at rest: an Entry, the chain, and the way from Record to Entry and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from pydantic import ValidationError

from psych_runtime_core.errors import CorruptionReason, CorruptLog, EntryTooLarge, RecordTooNew
from psych_runtime_core.ids import RunId
from psych_runtime_core.jsonvalue import decode_json, encode_json
from psych_runtime_core.records.base import UNSTAMPED
from psych_runtime_core.records.codec import Codec
from psych_runtime_core.records.record import RECORD_CLASSES, Record
from psych_runtime_core.records.tree import Tree, emptied, instant, join, split
from psych_runtime_core.scope import Scope

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_COMMIT_BYTES = 16 * 1024 * 1024
# More than any stamp adds to the body of a record.
STAMP_BYTES = 4 * 1024
FORM = 1
# The columns that a body leaves out when they are equal to these.
LEFT_OUT = {"at": instant(UNSTAMPED), "epoch": 0}
# What pydantic says of a field or of a word that this release does not know.
NEWER = frozenset({"extra_forbidden", "enum", "literal_error"})


@dataclass(frozen=True, slots=True)
class Head:
    """Where a log ends: the seq and the digest of its last entry."""

    seq: int
    digest: bytes

    def __str__(self) -> str:
        return f"entry {self.seq} with digest {self.digest.hex()}"


GENESIS = Head(0, b"")


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as a store keeps it. A store never looks into `body`; `digest` has 32 bytes."""

    seq: int
    type: str
    at: datetime
    epoch: int
    body: bytes
    digest: bytes

    @property
    def head(self) -> Head:
        return Head(self.seq, self.digest)


def encode(record: Record, *, after: Head, scope: Scope, codec: Codec) -> Entry:
    """`record` as the entry behind `after`.

    Raises `EntryTooLarge` for a body over `MAX_BODY_BYTES`, `ValueError` for a record without a seq.
    """
    if record.seq == 0:
        raise ValueError("a record is stamped before it is encoded")
    facts, content = split(record)
    line = encode_json(facts)
    plain = encode_json(content) if content else b""
    size = len(line) + 1 + len(plain)
    if size > MAX_BODY_BYTES:
        raise EntryTooLarge(f"a {record.type} record", size, MAX_BODY_BYTES)
    body = line + b"\n" + (codec.seal(plain, scope=scope, bound=line) if plain else b"")
    return Entry(record.seq, record.type, record.at, record.epoch, body, chain(after, body))


def fits(record: Record) -> bool:
    """Whether a log holds `record`, however it is stamped; what it has is counted before sealing."""
    facts, content = split(record)
    size = len(encode_json(facts)) + 1 + (len(encode_json(content)) if content else 0)
    return size <= MAX_BODY_BYTES - STAMP_BYTES


def chain(after: Head, body: bytes) -> bytes:
    """The digest of an entry of this body behind `after`."""
    return hashlib.sha256(after.digest + body).digest()


def decode(entry: Entry, *, run_id: RunId, scope: Scope, codec: Codec) -> Record:
    """The record of `entry`. Content whose key is destroyed reads as empty, and the record as `erased`.

    Raises `CorruptLog` when the columns contradict the body or the body cannot be read, and
    `RecordTooNew` for a type, form, field or word of a newer release.
    """
    line, _, sealed = entry.body.partition(b"\n")
    facts = _facts(entry, run_id, line)
    cls = RECORD_CLASSES.get(entry.type)
    if cls is None or facts.get("v", FORM) != FORM:
        raise RecordTooNew(run_id, entry.seq, entry.type, facts.get("v", FORM))
    facts.pop("v", None)
    plain = codec.open(sealed, scope=scope, bound=line) if sealed else b"{}"
    tree = {**emptied(cls, facts), "erased": True} if plain is None else _joined(entry, run_id, facts, plain)
    return _record(entry, run_id, cls, tree)


def verify(entries: Iterable[Entry], *, run_id: RunId, after: Head = GENESIS) -> Head:
    """The head that `entries` lead to. Raises `CorruptLog` with the first seq that does not fit."""
    head = after
    for entry in entries:
        if entry.seq != head.seq + 1:
            detail = f"entry {head.seq + 1} is missing, {entry.seq} stands in its place"
            raise CorruptLog(CorruptionReason.WRONG_LOG, run_id, head.seq + 1, detail)
        if entry.digest != chain(head, entry.body):
            detail = "the digest does not follow from the body and the entry before"
            raise CorruptLog(CorruptionReason.DIGEST_MISMATCH, run_id, entry.seq, detail)
        _facts(entry, run_id, entry.body.partition(b"\n")[0])
        head = entry.head
    return head


def _facts(entry: Entry, run_id: RunId, line: bytes) -> Tree:
    facts = _object(entry, run_id, line)
    columns = {
        "run_id": run_id,
        "seq": entry.seq,
        "type": entry.type,
        "at": instant(entry.at),
        "epoch": entry.epoch,
    }
    for name, expected in columns.items():
        found = facts.get(name, LEFT_OUT.get(name))
        if found != expected:
            detail = f"the body says {name} {found!r}, the store {expected!r}"
            raise CorruptLog(CorruptionReason.ENVELOPE_MISMATCH, run_id, entry.seq, detail)
    return facts


def _object(entry: Entry, run_id: RunId, document: bytes) -> Tree:
    try:
        value: Any = decode_json(document)
    except ValueError as error:
        raise _unreadable(entry, run_id, str(error)) from error
    if not isinstance(value, dict):
        raise _unreadable(entry, run_id, "it is no JSON object")
    return cast("Tree", value)


def _joined(entry: Entry, run_id: RunId, facts: Tree, content: bytes) -> Tree:
    try:
        return join(facts, _object(entry, run_id, content))
    except ValueError as error:
        raise _unreadable(entry, run_id, str(error)) from error


def _record(entry: Entry, run_id: RunId, cls: type[Record], tree: Tree) -> Record:
    try:
        return cls.model_validate(tree)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        if any(fault["type"] in NEWER for fault in faults):
            raise RecordTooNew(run_id, entry.seq, entry.type, FORM) from error
        where = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:3])
        raise _unreadable(entry, run_id, where) from error


def _unreadable(entry: Entry, run_id: RunId, detail: str) -> CorruptLog:
    return CorruptLog(
        CorruptionReason.UNREADABLE_BODY, run_id, entry.seq, f"its body cannot be read: {detail}"
    )
