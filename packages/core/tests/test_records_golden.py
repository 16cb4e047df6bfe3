"""Stored forms are promises: each type has bodies that every later release must read and write alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.core.tests.samples import BARE, FULL, OFFLOADED, RUN, SCOPE
from psych_runtime_core.records import GENESIS, Entry, PlainCodec, Record, decode, encode
from psych_runtime_core.records.entry import chain
from psych_runtime_core.records.record import RECORD_CLASSES

GOLDEN = Path(__file__).parent / "golden" / "records"
SAMPLES = {
    f"{name}.{kind}": record
    for kind, group in (("full", FULL), ("bare", BARE), ("offloaded", OFFLOADED))
    for name, record in group.items()
}
cases = pytest.mark.parametrize("name", SAMPLES)


def golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.body").read_bytes()


@cases
def test_a_record_is_written_as_it_always_was(name: str) -> None:
    assert encode(SAMPLES[name], after=GENESIS, scope=SCOPE, codec=PlainCodec()).body == golden(name)


@cases
def test_a_stored_body_reads_as_it_always_did(name: str) -> None:
    record, body = SAMPLES[name], golden(name)
    entry = Entry(record.seq, record.type, record.at, record.epoch, body, chain(GENESIS, body))
    assert decode(entry, run_id=RUN, scope=SCOPE, codec=PlainCodec()) == record


def test_every_type_has_its_bodies() -> None:
    assert set(FULL) == set(BARE) == set(RECORD_CLASSES)
    assert {path.name for path in GOLDEN.iterdir()} == {f"{name}.body" for name in SAMPLES}


@pytest.mark.parametrize("record", FULL.values(), ids=FULL)
def test_the_full_sample_says_every_field(record: Record) -> None:
    defaults = {name for name, field in type(record).model_fields.items() if not field.is_required()}
    unsaid = {name for name in defaults if getattr(record, name) == type(record).model_fields[name].default}
    assert unsaid <= {"lane", "erased", "type", "spec_kind", *NOT_TOGETHER.get(record.type, ())}


# Fields that exclude what the sample says.
NOT_TOGETHER = {
    "resumed": ("cause",),
    "tool_call_finished": ("failure", "result_blob_key", "result_content_type"),
}
