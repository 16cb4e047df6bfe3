"""A redacted export says what happened, and nothing of what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from typing import Any, cast

import pytest
from hypothesis import given, settings

from packages.core.tests.codecs import SealingCodec
from packages.core.tests.samples import BARE, FULL
from packages.core.tests.strategies import stamped_records
from packages.runtime.tests.api_scenes import ACME, RUN
from packages.runtime.tests.export_scenes import all_of, kept, whole, with_blobs
from psych_runtime import (
    AgentSpec,
    BlobKey,
    CodeTool,
    CorruptLog,
    HttpTool,
    InMemoryStore,
    ModelRef,
    RunQuery,
    Scope,
    Version,
    answer,
    export_run,
    import_run,
    records,
    redacted,
    report,
    state,
    status,
    thread,
)
from psych_runtime.api.export_file import BlobPiece, Start, item_of
from psych_runtime.api.placeholders import placeholder
from psych_runtime.api.redacted_items import redacted_record
from psych_runtime.testing import LogBuilder, audit
from psych_runtime_core.jsonvalue import decode_json
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.records import GENESIS, Entry, PlainCodec, Record, decode, encode
from psych_runtime_core.records.facts import ResultAttachment, ToolFailure
from psych_runtime_core.records.tree import split
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from psych_runtime_memory.blobs import InMemoryBlobStore


class Plants:
    """Texts that stand nowhere else."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.made: list[str] = []

    @property
    def one(self) -> str:
        self.made.append(f"plant-{next(self._numbers):04}-é")
        return self.made[-1]

    @property
    def json(self) -> dict[str, Any]:
        """Arguments or a result, with plants among the values and the keys."""
        return {"name": self.one, self.one: [self.one, {"note": self.one}], "n": 5}


def failure(plants: Plants) -> ToolFailure:
    """One whose kind is an exception's and whose code a provider's."""
    return ToolFailure(kind=plants.one, message=plants.one, transient=True, code=plants.one)


def said_by_provider(plants: Plants) -> dict[str, str]:
    """What a provider says of an answer in words of its own."""
    return {
        "raw_finish_reason": plants.one,
        "served_model": plants.one,
        "service_tier": plants.one,
    }


def a_file(plants: Plants) -> ResultAttachment:
    """A file of a tool, whose type it may name as it likes."""
    return ResultAttachment(
        name=plants.one,
        handle=f"out_{len(plants.made)}",
        content_type=plants.one,
        size_bytes=1,
        observed_bytes=1,
        data=b"x",
        stored="inline",
    )


def planted(plants: Plants) -> tuple[AgentSpec, LogBuilder]:
    """A Run with plants wherever anybody can say something."""
    tool = HttpTool(
        name="fetch",
        description=plants.one,
        url=f"https://example.com/{plants.one[:10]}",
        headers={"x-note": plants.one[:10]},
        input_schema={"type": "object", "properties": {"q": {"description": plants.one}}},
        credential=plants.one,
    )
    spec = AgentSpec(
        name="clerk",
        description=plants.one,
        instructions=plants.one,
        model=ModelRef(model="m", options={"user": plants.one}, stop=(plants.one,)),
        tools=(CodeTool(name="act"), tool),
        input_schema={"type": "object", "description": plants.one},
        output_schema={"type": "object", "title": plants.one},
    )
    scope = Scope(tenant="acme", principal=plants.one, labels={"team": plants.one, plants.one: "x"})
    log = LogBuilder(RUN, scope=scope, version_hash=Version.of(spec).hash)
    log.admitted(plants.json, idempotency_key=plants.one).attempt()
    for _ in range(60):
        log.turn(repair=plants.one).model_started()
        log.model_failed(failure=failure(plants)).model_started()
        log.model_finished(plants.one, [("act", plants.json)], **said_by_provider(plants))
        log.suspended(0, question=plants.one)
        log.resumed(0, arguments=plants.json, payload=plants.json, resumed_by=plants.one)
        log.tool_started(0).tool_finished(0, plants.json, preview=plants.one, attachments=(a_file(plants),))
    log.enqueued(plants.one, sent_by=plants.one).abort(plants.one, requested_by=plants.one)
    return spec, log.settled(output=plants.json)


def readable(lines: list[bytes]) -> Iterator[bytes]:
    """Everything that can be read in a file, bodies and blobs opened."""
    for line in lines:
        yield line
        item = item_of(line) if not line.startswith(b'{"end"') else None
        if isinstance(item, Entry):
            yield item.body
        elif isinstance(item, BlobPiece):
            yield item.data


async def redacted_export(store: InMemoryStore, **given: Any) -> list[bytes]:
    return await all_of(redacted(export_run(store, RUN, **given), codec=store.codec))


async def test_none_of_a_thousand_planted_texts_is_left() -> None:
    plants, store = Plants(), InMemoryStore()
    spec, log = planted(plants)
    await store.put_version(Version.of(spec))
    await store.admit(log.header(idempotency_key=plants.one), log.entries())
    blobs = InMemoryBlobStore()
    for call, content in [("call_1.1", plants.one), ("call_2.1", plants.one * 1_000)]:
        key, told = BlobKey("acme", RUN, call), {"note": plants.one}
        await blobs.put(key, content.encode(), content_type=plants.one, metadata=told)
    exported = await all_of(export_run(store, RUN, blobs=blobs))
    assert len(plants.made) > 1_000
    before = b"\n".join(readable(exported)).decode(errors="replace")
    assert sum(plant[:10] in before for plant in plants.made) == len(plants.made)
    after = b"\n".join(readable(await redacted_export(store, blobs=blobs))).decode(errors="replace")
    assert "plant-" not in after


async def test_it_can_be_imported_and_folds_to_the_same_facts() -> None:
    plants, store, other = Plants(), InMemoryStore(), InMemoryStore()
    spec, log = planted(plants)
    await store.put_version(Version.of(spec))
    await store.admit(log.header(name="clerk", idempotency_key=plants.one), log.entries())
    await import_run(other, await redacted_export(store))
    before, after = await store.get_run(RUN), await other.get_run(RUN)
    assert after.facts == replace(before.facts, version_hash=after.version_hash)
    assert (after.terminal, after.settled_at, after.epoch) == (
        before.terminal,
        before.settled_at,
        before.epoch,
    )
    columns = [(entry.seq, entry.type, entry.at, entry.epoch) for entry in await store.read(RUN)]
    assert [(each.seq, each.type, each.at, each.epoch) for each in await other.read(RUN)] == columns
    assert {finding.code for finding in audit(await other.read(RUN), header=after)} <= {"digests_true"}
    assert (await report(other, RUN)).totals == (await report(store, RUN)).totals
    assert len((await thread(other, RUN)).messages) == len((await thread(store, RUN)).messages)
    assert (await report(other, RUN)).spec_name == "clerk"
    assert (await status(other, RUN)).lifecycle == (await status(store, RUN)).lifecycle


async def test_shape_stays_and_no_key_is_left_to_collide() -> None:
    store, log = InMemoryStore(), whole()
    await kept(store, log.edit(1, idempotency_key="order-1"), idempotency_key="order-1")
    lines = await redacted_export(store)
    assert item_of(lines[0]) == Start(redacted=True)
    other = InMemoryStore()
    await import_run(other, lines)
    assert (await answer(other, RUN)).text == "<text 5>"
    kinds = {record.type: record for record in await records(other, RUN)}
    admitted: Any = kinds["run_admitted"]
    assert (admitted.input, admitted.idempotency_key) == ({"message": "<text 5>"}, None)
    assert (await other.get_run(RUN)).idempotency_key is None
    finished = [each for each in await records(other, RUN) if isinstance(each, ModelCallFinished)]
    call = finished[0].tool_calls[0]
    assert (call.name, decode_json(call.arguments)) == ("act", {"name": "<text 2>"})


async def test_another_file_is_made_of_the_same_export_each_time() -> None:
    store = InMemoryStore()
    await kept(store, whole())
    assert await redacted_export(store) == await redacted_export(store)


def texts_of(value: object) -> set[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        return {value}
    below: list[object] = []
    if isinstance(value, Mapping):
        below = list(cast("Mapping[str, object]", value).values())
    elif isinstance(value, list | tuple):
        below = list(cast("Sequence[object]", value))
    return {text for item in below for text in texts_of(item)}


# Facts that a person, a tool or a provider puts in words of its own.
WORDS = {
    *("scope", "sent_by", "requested_by", "resumed_by", "attachments"),
    *("raw_finish_reason", "served_model", "service_tier"),
}
# What a message says of its parts, and not in them.
KINDS = {"assistant", "reasoning", "text", "refusal", "tool_call", "opaque", "image", "file", "redacted"}
NAMES = {"call_1", "pay", "p_1", "openai", "m-1", "low", "image/png", "application/pdf"}
REPLACED = {"https://redacted.invalid/", '{"n":0}', sha256(bytes(4)).hexdigest()}


@pytest.mark.parametrize(
    "record", [*FULL.values(), *BARE.values()], ids=[*FULL, *(f"bare {name}" for name in BARE)]
)
def test_of_every_record_the_facts_stay_and_the_content_goes(record: Record) -> None:
    told = again(redacted_record(record))
    facts, content = split(told)
    for text in texts_of(content) - KINDS - NAMES - REPLACED:
        assert text.startswith("<text ") or not text.strip("A="), text
    for name, fact in split(record)[0].items():
        if name not in WORDS:
            assert facts[name] == fact


@settings(max_examples=200, deadline=None)
@given(record=stamped_records())
def test_whatever_a_record_holds_its_redacted_form_is_one(record: Record) -> None:
    told = again(redacted_record(record))
    assert (told.type, told.seq, told.at, told.epoch) == (record.type, record.seq, record.at, record.epoch)


def again(record: Record) -> Record:
    """A record as it is written and read."""
    entry = encode(record, after=GENESIS, scope=ACME, codec=PlainCodec())
    return decode(entry, run_id=record.run_id, scope=ACME, codec=PlainCodec())


async def test_sealed_bodies_are_opened_with_their_codec_and_not_without() -> None:
    store, other = InMemoryStore(codec=SealingCodec()), InMemoryStore()
    await kept(store, whole())
    await import_run(other, await redacted_export(store))
    assert (await answer(other, RUN)).text == "<text 5>"
    with pytest.raises(CorruptLog):
        await all_of(redacted(export_run(store, RUN)))


async def test_of_an_erased_run_what_is_left_can_be_shown() -> None:
    codec = SealingCodec()
    store, other = InMemoryStore(codec=codec), InMemoryStore()
    await kept(store, whole())
    await store.erase(RunQuery(tenant="acme"))
    codec.destroy("acme")
    await import_run(other, await redacted_export(store))
    assert (await state(other, RUN)).settled == (await state(store, RUN)).settled
    assert (await other.get_run(RUN)).erased


async def test_a_run_whose_key_is_destroyed_is_imported_as_nobodys() -> None:
    codec = SealingCodec()
    store, other = InMemoryStore(codec=codec), InMemoryStore()
    await kept(store, whole(scope=Scope(tenant="acme", principal="ada", labels={"team": "a"})))
    codec.destroy("acme")
    await import_run(other, await redacted_export(store))
    assert (await other.get_run(RUN)).scope == Scope(tenant="acme")


async def test_a_file_that_was_cut_is_not_redacted() -> None:
    store = InMemoryStore()
    await kept(store, whole())
    exported = await all_of(export_run(store, RUN))
    with pytest.raises(CorruptLog):
        await anext(redacted(exported[:-1]))
    with pytest.raises(CorruptLog):
        await anext(redacted([]))


async def test_blobs_keep_their_size() -> None:
    store = InMemoryStore()
    header = await kept(store, whole())
    lines = await redacted_export(store, blobs=await with_blobs(header, 7))
    (piece,) = [item for item in map(item_of, lines[:-1]) if isinstance(item, BlobPiece)]
    assert (piece.data, piece.metadata, piece.content_type) == (bytes(7), {}, "<text 10>")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param({"kind": "auth", "code": "401"}, ("auth", "401"), id="ours"),
        pytest.param(
            {"kind": "permanent", "code": "model_not_found"}, ("permanent", "model_not_found"), id="no model"
        ),
        pytest.param({"kind": "KeyError"}, ("<text 8>", None), id="an exception"),
        pytest.param({"kind": "auth", "code": "no Ada"}, ("auth", "<text 6>"), id="a provider's word"),
        pytest.param({"kind": "auth", "code": "4010"}, ("auth", "<text 4>"), id="a number that is no status"),
    ],
)
def test_of_a_failure_the_words_of_psych_stay(said: dict[str, Any], shown: tuple[str, str | None]) -> None:
    failed = ModelCallFailed(turn=1, try_number=1, model="m", failure=ToolFailure(**said), next="stop")
    told = redacted_record(failed)
    assert isinstance(told, ModelCallFailed)
    assert (told.failure.kind, told.failure.code) == shown


@pytest.mark.parametrize(
    ("raw", "shown"), [*((each.value, each.value) for each in FinishReason), ("Ada said so", "<text 11>")]
)
def test_of_why_a_model_stopped_no_other_word_stays(raw: str, shown: str) -> None:
    log = LogBuilder().admitted().attempt().turn().model_started().model_finished("x", raw_finish_reason=raw)
    told = redacted_record(log.records[-1])
    assert isinstance(told, ModelCallFinished)
    assert told.raw_finish_reason == shown


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("", "", id="no text"),
        pytest.param("é" * 214, "<text 214>", id="a text"),
        pytest.param(
            {"a_b": 1.5, "n": -7, "t": True, "z": None},
            {"a_b": 0.0, "n": 0, "t": False, "z": None},
            id="an object",
        ),
        pytest.param(
            {"ada@example.com": "x", "é": 1}, {"<key 1>": "<text 1>", "<key 2>": 0}, id="keys that are data"
        ),
        pytest.param(["x", [b"abc"]], ("<text 1>", (bytes(3),)), id="a list"),
    ],
)
def test_a_placeholder_has_the_shape_of_its_value(value: object, expected: object) -> None:
    assert placeholder(value) == expected


def test_what_has_no_shape_has_no_placeholder() -> None:
    with pytest.raises(TypeError):
        placeholder(object())
