"""What a file says of a Run is believed as far as its log, its store and its bounds bear it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from packages.core.tests.codecs import SealingCodec
from packages.runtime.tests.api_scenes import (
    ACME,
    RIVAL,
    RUN,
    STORES,
    VERSION,
    CountingStore,
    opened,
)
from packages.runtime.tests.export_scenes import all_of, kept, whole, with_blobs
from psych_runtime import (
    AccessDenied,
    CorruptLog,
    InMemoryStore,
    PsychError,
    RunHeader,
    RunQuery,
    WorkerId,
    dispatch,
    export_run,
    import_run,
    scoped,
    send,
)
from psych_runtime.api.export_file import MAX_EPOCH, Tally
from psych_runtime.testing import LogBuilder
from psych_runtime_core.ports.runs import MAX_COUNT
from psych_runtime_memory.blobs import InMemoryBlobStore

Document = Any
Place = tuple[str | int, ...]

# --- anything in any place -----------------------------------------------------------------------------

STRANGE: tuple[object, ...] = (
    *(None, True, -1, 0, 1.5, 1e308, 2**63, 10**30, -(2**63) - 1),
    *("", "x", "\ud800", "\x00", "../../x", "a" * 300, "NaN", "00" * 32, "YQ==", "run_settled"),
    *("2020-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00"),
    *([], {}, [1], {"a": 1}),
)


def file_of(documents: list[Document]) -> list[bytes]:
    """A file of these lines with a true end."""
    tally = Tally()
    lines = [json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in documents]
    return [*map(tally.add, lines), tally.end_line]


def places_in(value: Document, above: Place = ()) -> Iterator[Place]:
    """Where anything stands in a document."""
    items: list[tuple[str | int, Document]] = []
    if isinstance(value, dict):
        items = [*cast("dict[str, Document]", value).items()]
    elif isinstance(value, list):
        items = [*enumerate(cast("Sequence[Document]", value))]
    for key, item in items:
        yield (*above, key)
        yield from places_in(item, (*above, key))


def put(documents: list[Document], place: Place, value: object) -> list[Document]:
    """The lines with another value in a place."""
    changed = deepcopy(documents)
    within: Document = changed
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = value
    return changed


async def documents_of(log: LogBuilder, *blobs: int, **fields: Any) -> list[Document]:
    """The lines of an export, but for its last."""
    return await documents_in(InMemoryStore(), log, *blobs, **fields)


async def documents_in(store: InMemoryStore, log: LogBuilder, *blobs: int, **fields: Any) -> list[Document]:
    kept_blobs = await with_blobs(await kept(store, log, **fields), *blobs)
    return [json.loads(line) for line in (await all_of(export_run(store, RUN, blobs=kept_blobs)))[:-1]]


async def test_a_strange_value_in_any_place_is_refused_in_a_word_of_psych_or_does_no_harm() -> None:
    log = LogBuilder(scope=ACME, version_hash=VERSION.hash).admitted().abort().settled()
    documents = await documents_of(log, 5, priority=3)
    refused = 0
    for place in places_in(documents):
        for value in STRANGE:
            store, blobs = InMemoryStore(), InMemoryBlobStore()
            try:
                await import_run(store, file_of(put(documents, place, value)), blobs=blobs)
            except PsychError:
                refused += 1
                assert not (await store.find_runs(RunQuery())).items, (place, value)
                assert not (await blobs.list(None)).items, (place, value)
    assert refused > 1_000


@pytest.mark.parametrize(
    ("place", "value"),
    [
        pytest.param((1, "run", "created_at"), "0001-01-01T00:00:00+14:00", id="before all time"),
        pytest.param((1, "run", "name"), "\ud800", id="a name that no database stores"),
        pytest.param((1, "run", "pending"), MAX_COUNT + 1, id="a count that no reader keeps"),
        pytest.param((1, "run", "head", "seq"), "3", id="a seq in words"),
        pytest.param((1, "run", "more"), 1, id="a field that no header has"),
        pytest.param((1, "more"), 1, id="something beside a header"),
        pytest.param((3, "entry", "seq"), True, id="a seq that is none"),
        pytest.param((3, "entry", "type"), [1], id="a type that is none"),
        pytest.param((3, "entry", "epoch"), 2**70, id="an epoch that no entry has"),
        pytest.param((3, "entry", "digest"), "00", id="a digest that is none"),
        pytest.param((6, "blob"), [1], id="a blob that has no name"),
        pytest.param((6, "offset"), 1.5, id="an offset between bytes"),
        pytest.param((6, "metadata"), {"a": None}, id="metadata that is none"),
        pytest.param((6, "metadata"), {"a": "\ud800"}, id="metadata that no database stores"),
        pytest.param((6, "data"), "no base64", id="data that is none"),
        pytest.param((6, "more"), 1, id="something beside a blob"),
    ],
)
async def test_what_no_line_says_is_refused_before_anything_is_asked(place: Place, value: object) -> None:
    log = LogBuilder(scope=ACME, version_hash=VERSION.hash).admitted().abort().settled()
    documents, store, blobs = await documents_of(log, 5), CountingStore(), InMemoryBlobStore()
    with pytest.raises(CorruptLog) as refused:
        await import_run(store, file_of(put(documents, place, value)), blobs=blobs)
    assert "line" in refused.value.detail or "beside" in refused.value.detail
    assert "\n" not in refused.value.detail
    assert "http" not in refused.value.detail
    assert not store.calls
    assert not (await blobs.list(None)).items


# --- a header that its log does not bear out -------------------------------------------------------------

UNTRUE: Mapping[str, object] = {
    "terminal": "failed",
    "settled_at": "2099-01-01T00:00:00Z",
    "created_at": "2001-01-01T00:00:00Z",
    "deadline_at": "2001-01-01T00:00:00Z",
    "attempt_count": 9,
    "pending": 1,
    "parked": True,
    "waits": [["approval", 3]],
    "stopping": True,
    "blobs": True,
    "name": "other",
    "root_run_id": "run_other",
}
TOLD_IN_CONTENT: Mapping[str, object] = {
    "idempotency_key": "order-8",
    "scope": {"tenant": "acme", "principal": "eve", "labels": {}},
}


@pytest.mark.parametrize("is_sealed", [False, True], ids=["open", "sealed"])
@pytest.mark.parametrize("field", UNTRUE)
async def test_a_header_says_nothing_else_than_its_log_and_its_version(
    field: str, *, is_sealed: bool
) -> None:
    store = CountingStore()
    first = InMemoryStore(codec=SealingCodec() if is_sealed else None)
    documents = await documents_in(first, whole())
    assert documents[1]["run"].get(field) != UNTRUE[field]
    assert await import_run(InMemoryStore(), file_of(documents)) == RUN
    with pytest.raises(CorruptLog, match=field if field != "name" else "another name"):
        await import_run(store, file_of(put(documents, (1, "run", field), UNTRUE[field])))
    assert not store.calls


@pytest.mark.parametrize("field", TOLD_IN_CONTENT)
async def test_a_header_names_nobody_else_than_a_log_that_can_be_read(field: str) -> None:
    log, store = whole().edit(1, idempotency_key="order-7"), CountingStore()
    documents = await documents_of(log, idempotency_key="order-7")
    with pytest.raises(CorruptLog, match="another's"):
        await import_run(store, file_of(put(documents, (1, "run", field), TOLD_IN_CONTENT[field])))
    assert not store.calls
    # A Run that comes back to where it was purged has no key, and goes on from there.
    del documents[1]["run"]["idempotency_key"]
    assert await import_run(store, file_of(documents)) == RUN


@pytest.mark.parametrize("field", TOLD_IN_CONTENT)
async def test_what_was_erased_names_nobody(field: str) -> None:
    documents = put(await documents_of(whole()), (1, "run", "erased"), True)
    with pytest.raises(CorruptLog, match="erased"):
        await import_run(InMemoryStore(), file_of(put(documents, (1, "run", field), TOLD_IN_CONTENT[field])))


async def test_only_what_was_settled_was_erased() -> None:
    store, log = CountingStore(), LogBuilder(scope=ACME, version_hash=VERSION.hash).admitted().attempt()
    documents = await documents_of(log)
    nobodys = {"scope": {"tenant": "acme"}, "request": "00" * 32, "erased": True}
    with pytest.raises(CorruptLog, match="erased"):
        await import_run(store, file_of(put(documents, (1, "run"), {**documents[1]["run"], **nobodys})))
    assert not store.calls


UNFOLDABLE: Mapping[str, tuple[Callable[[LogBuilder], LogBuilder], str]] = {
    "no Attempt": (lambda log: log.truncate(1).unchecked().turn(), "stale_epoch"),
    "a turn in a turn": (lambda log: log.truncate(3).unchecked().turn(), "at seq 4"),
}


@pytest.mark.parametrize("breach", UNFOLDABLE)
async def test_a_log_that_does_not_fold_is_refused(breach: str) -> None:
    edit, detail = UNFOLDABLE[breach]
    store, documents = CountingStore(), await documents_of(edit(whole()))
    with pytest.raises(CorruptLog, match=detail):
        await import_run(store, file_of(documents))
    assert not store.calls


# --- how often it was claimed --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STORES)
async def test_claims_are_counted_on_from_the_highest_epoch_that_a_file_may_have(
    kind: str, tmp_path: Path
) -> None:
    log = LogBuilder(scope=ACME, version_hash=VERSION.hash).admitted().attempt(epoch=MAX_EPOCH)
    documents = await documents_of(log)
    async with opened(kind, tmp_path) as store:
        await import_run(store, file_of(documents))
        assert (await store.get_run(RUN)).epoch == MAX_EPOCH
        await send(store, RUN, message="x")
        theirs = (await dispatch(store, VERSION.spec, RIVAL, input="hello")).run_id
        claims = (await store.claim(WorkerId("w"), limit=2)).claims
        assert {(each.header.run_id, each.lease.epoch) for each in claims} == {
            (RUN, MAX_EPOCH + 1),
            (theirs, 1),
        }
        assert (await store.get_run(RUN)).epoch == MAX_EPOCH + 1


async def test_a_log_of_a_higher_epoch_is_refused() -> None:
    log = LogBuilder(scope=ACME, version_hash=VERSION.hash).admitted().attempt(epoch=MAX_EPOCH + 1)
    with pytest.raises(CorruptLog, match="epoch"):
        await import_run(InMemoryStore(), file_of(await documents_of(log)))


@pytest.mark.parametrize("count", ["epoch", "crashes", "pending", "attempt_count", "delegation_depth"])
def test_no_header_has_a_count_beyond_its_bound(count: str) -> None:
    fields = dict(whole().header())
    RunHeader.model_validate({**fields, count: MAX_COUNT})
    with pytest.raises(ValidationError):
        RunHeader.model_validate({**fields, count: MAX_COUNT + 1})


# --- under and after whom it stands --------------------------------------------------------------------


def placed(log: LogBuilder, root: str) -> LogBuilder:
    """The log of a Run of another's tree."""
    return log.edit(1, root_run_id=root)


UNDER = {"parent_run_id": "run_root", "root_run_id": "run_root", "delegation_depth": 1}
IMPOSSIBLE: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "another root than its log's": (RUN, UNDER),
    "a root without a parent": ("run_root", {"root_run_id": "run_root"}),
    "a parent without a root": (RUN, {"parent_run_id": "run_root", "delegation_depth": 1}),
    "a child at the depth of a root": ("run_root", {**UNDER, "delegation_depth": 0}),
    "a root below": (RUN, {"delegation_depth": 1}),
    "under itself": ("run_root", {**UNDER, "parent_run_id": RUN}),
    "after itself": (RUN, {"continues_run_id": RUN}),
}


@pytest.mark.parametrize("place", IMPOSSIBLE)
async def test_a_place_that_no_tree_has_is_refused(place: str) -> None:
    root, fields = IMPOSSIBLE[place]
    store = CountingStore()
    with pytest.raises(CorruptLog):
        await import_run(store, file_of(await documents_of(placed(whole(), root), **fields)))
    assert not store.calls


LINKS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "under another's": ("run_root", UNDER),
    "deep under another's": (
        "run_root",
        {"parent_run_id": "run_between", "root_run_id": "run_root", "delegation_depth": 2},
    ),
    "after another's": (RUN, {"continues_run_id": "run_root"}),
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("is_scoped", [True, False], ids=["in a view", "in the store"])
async def test_a_run_under_or_after_another_tenants_is_refused(link: str, *, is_scoped: bool) -> None:
    root, fields = LINKS[link]
    store, documents = CountingStore(), await documents_of(placed(whole(), root), **fields)
    await kept(store, whole("run_root", RIVAL))
    store.calls.clear()
    with pytest.raises(AccessDenied) as refused:
        await import_run(scoped(store, ACME) if is_scoped else store, file_of(documents))
    assert "rival" not in str(refused.value)
    assert set(store.calls) <= {"get_run", "find_runs"}
    assert [each.run_id for each in (await store.find_runs(RunQuery())).items] == ["run_root"]


@pytest.mark.parametrize("link", LINKS)
async def test_what_a_run_stands_under_or_after_may_come_later(link: str) -> None:
    root, fields = LINKS[link]
    store = InMemoryStore()
    await import_run(store, file_of(await documents_of(placed(whole(), root), **fields)))
    header = await store.get_run(RUN)
    assert {name: getattr(header, name) for name in fields} == fields
    # Another tenant's that comes later takes nothing with it.
    await kept(store, whole("run_root", RIVAL))
    gone = await store.purge(RunQuery(tenant="rival"))
    assert [each.run_id for each in gone] == ["run_root"]
    assert await store.get_run(RUN) == header


@pytest.mark.parametrize(
    ("depth", "root"), [pytest.param(3, "run_root", id="too deep"), pytest.param(2, "run_other", id="a root")]
)
async def test_a_run_stands_a_step_below_its_parent_and_in_its_tree(depth: int, root: str) -> None:
    place = {"parent_run_id": "run_between", "root_run_id": root, "delegation_depth": depth}
    store, documents = InMemoryStore(), await documents_of(placed(whole(), root), **place)
    await kept(store, placed(whole("run_between"), "run_root"), **UNDER)
    with pytest.raises(CorruptLog, match="its parent stands elsewhere"):
        await import_run(store, file_of(documents))
    right = {"parent_run_id": "run_between", "root_run_id": "run_root", "delegation_depth": 2}
    assert await import_run(store, file_of(await documents_of(placed(whole(), "run_root"), **right))) == RUN


async def test_a_log_that_does_not_begin_with_an_admission_is_refused() -> None:
    log = LogBuilder(scope=ACME, version_hash=VERSION.hash).unchecked().abort()
    documents = await documents_of(log, version_hash=VERSION.hash)
    with pytest.raises(CorruptLog, match="admission"):
        await import_run(InMemoryStore(), file_of(documents))
