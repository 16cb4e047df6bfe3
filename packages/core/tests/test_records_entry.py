"""Entries: the chain, the columns, sizes, newer releases, and content under a codec."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from packages.core.tests.codecs import SealingCodec
from packages.core.tests.samples import BARE, FULL, RUN, SCOPE
from psych_runtime.testing.log_builder import LogBuilder
from psych_runtime_core.errors import CorruptionReason, CorruptLog, EntryTooLarge, RecordTooNew
from psych_runtime_core.ids import RunId
from psych_runtime_core.records import (
    GENESIS,
    MAX_BODY_BYTES,
    Entry,
    Head,
    PlainCodec,
    decode,
    encode,
    stamp,
    verify,
)
from psych_runtime_core.records.entry import chain
from psych_runtime_core.records.run import AbortRequested, RunAdmitted
from psych_runtime_core.records.tool import ToolCallFinished
from psych_runtime_core.records.turn import ModelCallFinished

PLAIN = PlainCodec()
LOG = (
    LogBuilder()
    .admitted()
    .attempt()
    .call("pay", {"n": 1}, "paid")
    .turn()
    .model_started()
    .model_finished("done")
)
TEST = RunId("run_test")
Fields = dict[str, Any]


def read(entry: Entry, run_id: RunId = RUN) -> object:
    return decode(entry, run_id=run_id, scope=SCOPE, codec=PLAIN)


def rewritten(name: str, facts: Fields, content: Fields | None = None) -> Entry:
    """The full sample's entry with other fields (None: without it), its chain following."""
    entry = encode(FULL[name], after=GENESIS, scope=SCOPE, codec=PLAIN)
    parts = [json.loads(part or b"{}") for part in entry.body.split(b"\n")]
    told = [{**part, **fields} for part, fields in zip(parts, (facts, content or {}), strict=True)]
    kept = [{key: value for key, value in part.items() if value is not None} for part in told]
    body = b"\n".join(json.dumps(part).encode() for part in kept)
    return replace(entry, body=body, digest=chain(GENESIS, body))


# --- the chain and the columns ---------------------------------------------------------------------------


def test_a_log_verifies_to_its_head_whole_and_from_any_seq_on() -> None:
    entries = LOG.entries()
    assert verify(entries, run_id=TEST) == entries[-1].head
    for place, entry in enumerate(entries):
        assert verify(entries[place + 1 :], run_id=TEST, after=entry.head) == entries[-1].head


def test_no_entries_lead_nowhere() -> None:
    assert verify([], run_id=TEST) == GENESIS


def flipped(part: bytes, place: int) -> bytes:
    return part[:place] + bytes([part[place] ^ 1]) + part[place + 1 :]


BREAKS: dict[str, Callable[[Entry], Entry]] = {
    "a body": lambda entry: replace(entry, body=flipped(entry.body, 40)),
    "the end of a body": lambda entry: replace(entry, body=entry.body + b" "),
    "a digest": lambda entry: replace(entry, digest=flipped(entry.digest, 0)),
    "a type": lambda entry: replace(entry, type="turn_starteD"),
    "an instant": lambda entry: replace(entry, at=entry.at + timedelta(microseconds=1)),
    "an epoch": lambda entry: replace(entry, epoch=entry.epoch + 1),
    "a seq": lambda entry: replace(entry, seq=entry.seq + 100),
}
REASONS = {
    "a type": CorruptionReason.ENVELOPE_MISMATCH,
    "an instant": CorruptionReason.ENVELOPE_MISMATCH,
    "an epoch": CorruptionReason.ENVELOPE_MISMATCH,
    "a seq": CorruptionReason.WRONG_LOG,
}


@pytest.mark.parametrize("part", BREAKS)
def test_a_flipped_bit_is_named_wherever_it_stands(part: str) -> None:
    for place, entry in enumerate(LOG.entries()):
        entries = [*LOG.entries()]
        entries[place] = BREAKS[part](entry)
        with pytest.raises(CorruptLog) as caught:
            verify(entries, run_id=TEST)
        assert caught.value.seq == entry.seq
        assert caught.value.reason is REASONS.get(part, CorruptionReason.DIGEST_MISMATCH)


def test_every_bit_of_a_body_counts() -> None:
    entry = LOG.entries()[0]
    for place in range(len(entry.body)):
        body = flipped(entry.body, place)
        with pytest.raises(CorruptLog, match="digest_mismatch"):
            verify([replace(entry, body=body)], run_id=TEST)


@pytest.mark.parametrize(
    ("entries", "seq"),
    [
        pytest.param(LogBuilder().admitted().attempt().turn().drop(2).entries(), 2, id="dropped"),
        pytest.param(LogBuilder().admitted().attempt().turn().repeat(2).entries(), 3, id="repeated"),
        pytest.param(LogBuilder().admitted().attempt().turn().swap(2, 3).entries(), 2, id="moved"),
        pytest.param(LogBuilder().admitted().attempt().turn().forge(2).entries(), 2, id="forged"),
        pytest.param(LogBuilder("run_other").admitted().entries(), 1, id="of another Run"),
    ],
)
def test_an_entry_that_is_not_in_its_place_is_named(entries: tuple[Entry, ...], seq: int) -> None:
    with pytest.raises(CorruptLog) as caught:
        verify(entries, run_id=TEST)
    assert caught.value.seq == seq


@pytest.mark.parametrize("part", ["a type", "an instant", "an epoch", "a seq"])
def test_decoding_finds_a_column_that_contradicts_the_body(part: str) -> None:
    entry = encode(BARE["turn_started"], after=GENESIS, scope=SCOPE, codec=PLAIN)
    with pytest.raises(CorruptLog, match="envelope_mismatch"):
        read(BREAKS[part](entry))


def test_decoding_for_another_run_is_a_mismatch() -> None:
    entry = encode(BARE["turn_started"], after=GENESIS, scope=SCOPE, codec=PLAIN)
    with pytest.raises(CorruptLog, match="run_id"):
        read(entry, RunId("run_2"))


def test_a_record_of_the_very_first_instant_has_its_columns() -> None:
    born = AbortRequested()
    record = stamp(born, run_id=RUN, seq=1, at=datetime(1970, 1, 1, tzinfo=UTC), tenant="acme", epoch=0)
    assert read(encode(record, after=GENESIS, scope=SCOPE, codec=PLAIN)) == record


# --- bodies that cannot be read --------------------------------------------------------------------------

UNREADABLE = {
    "no JSON": b"{",
    "no object": b"[]\n",
    "not UTF-8": b'{"a":"\xff"}\n',
    "NaN": b'{"a":NaN}\n',
    "empty": b"",
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_facts_that_are_no_object_are_unreadable(body: bytes) -> None:
    record = BARE["turn_started"]
    entry = Entry(record.seq, record.type, record.at, record.epoch, body, chain(GENESIS, body))
    with pytest.raises(CorruptLog, match="unreadable_body"):
        read(entry)


@pytest.mark.parametrize(
    ("facts", "content"),
    [
        pytest.param({"turn": None}, {}, id="a field is missing"),
        pytest.param({"turn": "two"}, {}, id="a field has another type"),
        pytest.param({"turn": 0}, {}, id="a field is out of bounds"),
        pytest.param({"usage": []}, {}, id="an object is a list"),
        pytest.param({}, {"turn": 1}, id="a fact stands in the content too"),
    ],
)
def test_a_body_that_is_no_record_of_its_type_is_unreadable(facts: Fields, content: Fields) -> None:
    with pytest.raises(CorruptLog, match="unreadable_body"):
        read(rewritten("model_call_finished", facts, content))


def test_content_that_is_no_object_is_unreadable() -> None:
    entry = encode(FULL["abort_requested"], after=GENESIS, scope=SCOPE, codec=PLAIN)
    body = entry.body.partition(b"\n")[0] + b"\n[1]"
    with pytest.raises(CorruptLog, match="unreadable_body"):
        read(replace(entry, body=body))


# --- newer releases --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "content"),
    [
        pytest.param({"v": 2}, {}, id="a form"),
        pytest.param({"mood": "good"}, {}, id="a fact"),
        pytest.param({}, {"mood": "good"}, id="a content field"),
        pytest.param({"failure": {"kind": "k", "mood": "good"}}, {}, id="a field of a value"),
        pytest.param({"state": "paused"}, {}, id="a word"),
    ],
)
def test_what_a_newer_release_wrote_is_never_corruption(facts: Fields, content: Fields) -> None:
    with pytest.raises(RecordTooNew) as caught:
        read(rewritten("run_settled", facts, content))
    assert (caught.value.run_id, caught.value.seq, caught.value.type) == (RUN, 7, "run_settled")


def test_a_type_of_a_newer_release_verifies_and_does_not_decode() -> None:
    newer = replace(rewritten("turn_started", {"type": "turn_paused"}), type="turn_paused")
    assert verify([newer], run_id=RUN, after=replace(GENESIS, seq=6)) == newer.head
    with pytest.raises(RecordTooNew, match="turn_paused"):
        read(newer)


# --- sizes and stamps ------------------------------------------------------------------------------------


def test_a_body_may_be_as_large_as_the_limit_and_no_larger() -> None:
    def settled(size: int) -> Any:
        call = FULL["tool_call_finished"].model_copy(update={"result": "", "preview": None})
        rest = len(encode(call, after=GENESIS, scope=SCOPE, codec=PLAIN).body)
        return call.model_copy(update={"result": "x" * (size - rest)})

    largest = encode(settled(MAX_BODY_BYTES), after=GENESIS, scope=SCOPE, codec=PLAIN)
    assert len(largest.body) == MAX_BODY_BYTES
    with pytest.raises(EntryTooLarge) as caught:
        encode(settled(MAX_BODY_BYTES + 1), after=GENESIS, scope=SCOPE, codec=PLAIN)
    assert (caught.value.size, caught.value.limit) == (MAX_BODY_BYTES + 1, MAX_BODY_BYTES)


def test_the_size_is_judged_before_sealing() -> None:
    call = FULL["tool_call_finished"].model_copy(update={"result": "x" * (MAX_BODY_BYTES - 1_600)})
    assert len(encode(call, after=GENESIS, scope=SCOPE, codec=SealingCodec()).body) > MAX_BODY_BYTES - 1_600


def test_a_record_is_stamped_before_it_is_written() -> None:
    with pytest.raises(ValueError, match="stamped"):
        encode(AbortRequested(), after=GENESIS, scope=SCOPE, codec=PLAIN)


def test_a_stamp_refuses_a_naive_instant() -> None:
    with pytest.raises(ValueError, match="aware"):
        stamp(AbortRequested(), run_id=RUN, seq=1, at=datetime(2026, 1, 1), tenant="acme", epoch=0)  # noqa: DTZ001 - the case


# --- content under a codec -------------------------------------------------------------------------------


def test_content_of_before_the_codec_was_turned_on_is_read() -> None:
    entry = encode(FULL["run_admitted"], after=GENESIS, scope=SCOPE, codec=PLAIN)
    assert decode(entry, run_id=RUN, scope=SCOPE, codec=SealingCodec()) == FULL["run_admitted"]


def test_a_sealed_log_verifies_without_its_keys() -> None:
    entries = LOG.entries(SealingCodec())
    assert verify(entries, run_id=TEST) == entries[-1].head


def test_an_erased_record_reads_empty_where_it_had_content() -> None:
    codec = SealingCodec()
    entries = {name: encode(record, after=GENESIS, scope=SCOPE, codec=codec) for name, record in FULL.items()}
    codec.destroy("acme")
    erased = {name: decode(entry, run_id=RUN, scope=SCOPE, codec=codec) for name, entry in entries.items()}
    admitted, answer, result = (
        erased["run_admitted"],
        erased["model_call_finished"],
        erased["tool_call_finished"],
    )
    assert isinstance(admitted, RunAdmitted)
    assert (admitted.input, admitted.digest_salt, admitted.idempotency_key) == ({}, bytes(16), None)
    assert (admitted.scope.tenant, admitted.scope.principal, admitted.scope.labels) == ("acme", None, {})
    assert isinstance(answer, ModelCallFinished)
    assert (answer.text, answer.reasoning, answer.tool_calls, answer.sent.system_prompt) == ("", "", (), None)
    assert (len(answer.calls), answer.usage_reported) == (1, True)
    assert isinstance(result, ToolCallFinished)
    assert (result.result, result.preview, result.answer_digest) == (None, None, "a" * 64)
    assert [(file.name, file.data, file.stored) for file in result.attachments] == [
        ("chart.png", b"", "inline"),
        ("log", b"", "preview_only"),
    ]
    assert result.media == ()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"attachments": {"2": {"data": ""}}}, id="of a file more than there are"),
        pytest.param({"attachments": {"first": {"data": ""}}}, id="of no place at all"),
        pytest.param({"attachments": [{"data": ""}]}, id="not by its place"),
        pytest.param({"attachments": {"0": "data"}}, id="that is none of a file"),
        pytest.param({"attachments": {"0": {"name": {"data": ""}}}}, id="where a fact stands"),
    ],
)
def test_content_of_files_that_are_not_there_is_corrupt(content: dict[str, Any]) -> None:
    with pytest.raises(CorruptLog) as corrupt:
        read(rewritten("tool_call_finished", {}, content))
    assert corrupt.value.reason is CorruptionReason.UNREADABLE_BODY


def test_a_record_without_content_is_never_erased() -> None:
    codec = SealingCodec()
    entry = encode(FULL["queue_consumed"], after=GENESIS, scope=SCOPE, codec=codec)
    codec.destroy("acme")
    assert not decode(entry, run_id=RUN, scope=SCOPE, codec=codec).erased


def test_a_head_is_told_in_words_that_a_terminal_shows() -> None:
    assert str(Head(18, b"\xb6\x0d")) == "entry 18 with digest b60d"
