"""Whatever a record holds comes back, plain, sealed or as facts alone."""

from __future__ import annotations

from hypothesis import given, settings

from packages.core.tests.codecs import SealingCodec
from packages.core.tests.samples import RUN
from packages.core.tests.strategies import stamped_records
from psych_runtime_core.records import GENESIS, Codec, Head, PlainCodec, Record, decode, encode, verify
from psych_runtime_core.records.tree import split
from psych_runtime_core.scope import Scope

ACME = Scope(tenant="acme")


def through(record: Record, codec: Codec) -> Record:
    return decode(encode(record, after=GENESIS, scope=ACME, codec=codec), run_id=RUN, scope=ACME, codec=codec)


@given(stamped_records())
@settings(max_examples=300)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    back = through(record, PlainCodec())
    assert back == record
    # `1`, `1.0` and `True` are equal, their forms are not.
    assert encode(back, after=GENESIS, scope=ACME, codec=PlainCodec()) == encode(
        record, after=GENESIS, scope=ACME, codec=PlainCodec()
    )


@given(stamped_records())
def test_a_sealed_record_comes_back_and_shows_no_content(record: Record) -> None:
    codec = SealingCodec()
    entry = encode(record, after=GENESIS, scope=ACME, codec=codec)
    plain = encode(record, after=GENESIS, scope=ACME, codec=PlainCodec())
    facts, _, content = plain.body.partition(b"\n")
    assert entry.body.startswith(facts + b"\n")
    assert (content in entry.body) == (content == b"")
    assert through(record, codec) == record


@given(stamped_records())
def test_an_erased_record_keeps_its_facts_and_loses_its_content(record: Record) -> None:
    codec = SealingCodec()
    entry = encode(record, after=GENESIS, scope=ACME, codec=codec)
    facts, content = split(record)
    codec.destroy("acme")
    erased = decode(entry, run_id=RUN, scope=ACME, codec=codec)
    assert split(erased)[0] == facts
    assert erased.erased == bool(content)


@given(stamped_records())
def test_an_entry_verifies_behind_its_head(record: Record) -> None:
    head = Head(record.seq - 1, b"\x01" * 32)
    entry = encode(record, after=head, scope=ACME, codec=PlainCodec())
    assert verify([entry], run_id=RUN, after=head) == entry.head
