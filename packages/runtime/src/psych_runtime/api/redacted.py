"""An export without what was said in it, to show to others."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field

from psych_runtime.api.export_file import BlobPiece, Item, Start, Tally, line_of
from psych_runtime.api.export_spool import KeptFile, Lines, broken, kept
from psych_runtime.api.redacted_items import (
    redacted_header,
    redacted_piece,
    redacted_record,
    redacted_version,
)
from psych_runtime_core.ids import VersionHash
from psych_runtime_core.ports.runs import RunHeader
from psych_runtime_core.records import GENESIS, Codec, Entry, Head, PlainCodec, decode, encode
from psych_runtime_core.records.run import RunAdmitted
from psych_runtime_core.scope import Scope
from psych_runtime_core.version import Version


async def redacted(lines: Lines, *, codec: Codec | None = None) -> AsyncGenerator[bytes]:
    """The lines of an export with a placeholder for each text, argument and result: `<text 214>`.

    Ids, names of agents, tools, fields and the models asked for, Psych's own kinds of failure, counts and
    times stay; principals, labels, keys, the words of the Spec and those of a provider do not. The chain is
    made anew, over plain bodies: the file can be imported, folds and replays. Digests stay those of what was
    said, salted with what is no longer there. `codec` opens sealed bodies.

    Raises with the first line `CorruptLog`, `RecordTooNew` and `SpecValidationError`.
    """
    async with kept(lines) as file:
        told = await _told(file, codec or PlainCodec())
        tally = Tally()
        async for item in _items(file, told):
            yield tally.add(line_of(item))
        yield tally.end_line


@dataclass
class _Told:
    """What must be known of a file before its first line is written anew: above all, where its log ends.

    `names_nobody`: its admission cannot be read, and says of no person whose Run it is.
    """

    header: RunHeader
    codec: Codec
    versions: dict[VersionHash, Version] = field(default_factory=dict[VersionHash, Version])
    head: Head = GENESIS
    names_nobody: bool = False


async def _told(file: KeptFile, codec: Codec) -> _Told:
    told: _Told | None = None
    async for item in file.items():
        if isinstance(item, RunHeader):
            await codec.prepare(item.scope)
            told = _Told(item, codec)
        elif isinstance(item, Version) and told:
            told.versions[item.hash] = redacted_version(item)
        elif isinstance(item, Entry) and told:
            told.head = _entry(item, told, told.head).head
    if told is None:
        raise broken(0, "it says of no Run")
    return told


async def _items(file: KeptFile, told: _Told) -> AsyncIterator[Item]:
    head = GENESIS
    async for item in file.items():
        match item:
            case Start():
                yield Start(redacted=True)
            case RunHeader():
                renamed = {"version_hash": _renamed(item.version_hash, told.versions), "head": told.head}
                nobodys = {"scope": Scope(tenant=item.scope.tenant)} if told.names_nobody else {}
                yield redacted_header(item).model_copy(update=renamed | nobodys)
            case Version():
                yield told.versions[item.hash]
            case Entry():
                entry = _entry(item, told, head)
                head = entry.head
                yield entry
            case BlobPiece():
                yield redacted_piece(item)


def _entry(entry: Entry, told: _Told, after: Head) -> Entry:
    """The entry, redacted, behind the redacted one before it."""
    scope = told.header.scope
    found = decode(entry, run_id=told.header.run_id, scope=scope, codec=told.codec)
    record = redacted_record(found)
    if isinstance(record, RunAdmitted):
        told.names_nobody = found.erased
        version_hash = _renamed(record.version_hash, told.versions)
        record = record.model_copy(update={"version_hash": version_hash})
    return encode(record, after=after, scope=scope, codec=PlainCodec())


def _renamed(version_hash: VersionHash, versions: Mapping[VersionHash, Version]) -> VersionHash:
    version = versions.get(version_hash)
    return version.hash if version else version_hash
