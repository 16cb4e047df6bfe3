"""What is told of a blob: its type, its metadata, when it came."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from psych_runtime_contract.blob.base import KEY, BlobBase, listed, put
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.blob import MAX_METADATA, MAX_METADATA_TEXT, BlobKey, BlobStore

WIDE = "\N{GRINNING FACE}" * MAX_METADATA_TEXT
ODD = {"": "", " a ": " b ", "A": "upper", "a": "lower", "é": "\x00\n\t\r", "x=1;y": 'q"\\', "π": "漢字"}
FULL = {f"{WIDE[:-2]}{number:02}": WIDE for number in range(MAX_METADATA)}


class BlobTelling(BlobBase):
    """Metadata."""

    @pytest.mark.parametrize(
        "metadata",
        [
            pytest.param({}, id="nothing"),
            pytest.param(ODD, id="odd texts"),
            pytest.param(FULL, id="as much as there may be"),
        ],
    )
    async def test_what_was_told_is_told_again(self, blobs: BlobStore, metadata: dict[str, str]) -> None:
        known = await blobs.put(KEY, b"content", content_type="text/plain; x=é", metadata=metadata)
        assert (known.content_type, dict(known.metadata)) == ("text/plain; x=é", metadata)
        assert known.created_at.utcoffset() == timedelta(0)
        assert await blobs.head(KEY) == known
        assert await listed(blobs, "acme") == {KEY: known}

    async def test_nothing_told_is_no_metadata(self, blobs: BlobStore) -> None:
        assert (await blobs.put(KEY, b"content", content_type="text/plain")).metadata == {}

    async def test_slots_of_one_call_keep_what_is_their_own(self, blobs: BlobStore) -> None:
        slots = ["", ".report", ".report.2", ".Report", ".1"]
        keys = [BlobKey("acme", RunId("run_a"), f"call_a.1{slot}") for slot in slots]
        known = {key: await put(blobs, key.call_id.encode(), key, slot=key.call_id) for key in keys}
        for key in keys:
            assert await blobs.head(key) == known[key]
            assert known[key].metadata == {"slot": key.call_id}
            assert await blobs.get(key) == key.call_id.encode()
        await blobs.delete(keys[0])
        del known[keys[0]]
        assert await listed(blobs, "acme", RunId("run_a")) == known

    async def test_what_the_caller_changes_later_is_not_told(self, blobs: BlobStore) -> None:
        metadata = {"name": "before"}
        await blobs.put(KEY, b"content", content_type="text/plain", metadata=metadata)
        metadata["name"] = "after"
        known = await blobs.head(KEY)
        assert known is not None
        assert known.metadata == {"name": "before"}

    async def test_what_was_told_cannot_be_changed(self, blobs: BlobStore) -> None:
        for known in (await put(blobs, name="before"), await blobs.head(KEY), (await listed(blobs))[KEY]):
            assert known is not None
            with pytest.raises(TypeError):
                cast("dict[str, str]", known.metadata)["name"] = "after"
            assert known.metadata == {"name": "before"}

    @pytest.mark.parametrize(
        "given",
        [
            pytest.param({"metadata": {**FULL, "one": "more"}}, id="too many pairs"),
            pytest.param({"metadata": {"a" * (MAX_METADATA_TEXT + 1): ""}}, id="a long name"),
            pytest.param({"metadata": {"": "a" * (MAX_METADATA_TEXT + 1)}}, id="a long value"),
            pytest.param({"metadata": {"a\ud800": ""}}, id="a name with a lone surrogate"),
            pytest.param({"metadata": {"": "\udfffa"}}, id="a value with a lone surrogate"),
            pytest.param({"content_type": "text/\ud800"}, id="a type with a lone surrogate"),
            pytest.param({"content_type": ""}, id="no type"),
            pytest.param({"content_type": "text/plain\n"}, id="a type of two lines"),
        ],
    )
    async def test_what_no_blob_has_is_refused_and_the_old_one_stays(
        self, blobs: BlobStore, given: dict[str, Any]
    ) -> None:
        known = await put(blobs, b"old")
        told: dict[str, Any] = {"content_type": "text/plain", **given}
        with pytest.raises(ValueError):
            await blobs.put(KEY, b"new", **told)
        assert await blobs.head(KEY) == known
        assert await blobs.get(KEY) == b"old"
