"""The records of a Run's log."""

from psych_runtime_core.records.base import RecordModel, stamp
from psych_runtime_core.records.codec import ClosedCodec, Codec, PlainCodec
from psych_runtime_core.records.entry import (
    GENESIS,
    MAX_BODY_BYTES,
    MAX_COMMIT_BYTES,
    Entry,
    Head,
    decode,
    encode,
    fits,
    verify,
)
from psych_runtime_core.records.record import Record

__all__ = [
    "GENESIS",
    "MAX_BODY_BYTES",
    "MAX_COMMIT_BYTES",
    "ClosedCodec",
    "Codec",
    "Entry",
    "Head",
    "PlainCodec",
    "Record",
    "RecordModel",
    "decode",
    "encode",
    "fits",
    "stamp",
    "verify",
]
