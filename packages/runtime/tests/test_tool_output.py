"""Files that a tool gives back: what they may be, and what a record keeps and a model is shown of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from psych_runtime.attempt.attachments import Attached
from psych_runtime.attempt.placing import MAX_INLINE_BYTES, Overflow, PlacedValue, Placing, overflow_of
from psych_runtime.attempt.run_blobs import Blob
from psych_runtime.model.assemble import MAX_MEDIA_BYTES
from psych_runtime.secrets.masks import Masks
from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.output import File, ToolOutput
from psych_runtime.tools.problem import Problem
from psych_runtime_core.engine import wording
from psych_runtime_core.ids import HANDLE, RunId, ToolCallId, derive_handle
from psych_runtime_core.messages import FilePart, ImagePart, Media
from psych_runtime_core.records.facts import ResultAttachment
from psych_runtime_core.records.tool import MAX_ATTACHMENTS
from psych_runtime_core.spec.model import InputKind

CALL = RunId("run_1"), ToolCallId("call_1")
PLACING = Placing(*CALL, epoch=3, large_bytes=1_000, offload_bytes=100_000)
PICTURE = File("chart.png", "image/png", b"\x89PNG")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        pytest.param(lambda: File("", "text/plain", b""), "a file's name has 1 to 255", id="no name"),
        pytest.param(
            lambda: File("n" * 256, "text/plain", b""), "a file's name has 1 to 255", id="a long one"
        ),
        pytest.param(lambda: File("a\nb", "text/plain", b""), "no control characters", id="two lines"),
        pytest.param(
            lambda: File("\ud800", "text/plain", b""), "no control characters", id="half a character"
        ),
        pytest.param(lambda: File("a", "text", b""), "'text' is no media type", id="half a type"),
        pytest.param(lambda: File("a", "Text/Plain", b""), "in lower case", id="capitals"),
        pytest.param(lambda: File("a", "text/plain; charset=utf-8", b""), "no media type", id="parameters"),
    ],
)
def test_a_file_that_is_none_is_refused_where_it_is_made(make: Callable[[], File], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        make()


def test_a_file_keeps_its_bytes_and_does_not_show_them() -> None:
    data: Any = bytearray(b"secret bytes")
    file = File("a", "text/plain", data)
    data[:6] = b"other "
    assert file.data == b"secret bytes"
    assert "bytes" not in repr(file)


def test_only_files_stand_among_files() -> None:
    wrong: Any = [PICTURE, b"bytes"]
    with pytest.raises(TypeError, match=r"files holds a bytes: write File\(name, media_type, data\)"):
        ToolOutput(1, wrong)


@pytest.mark.parametrize(
    ("result", "value", "files"),
    [
        pytest.param(PICTURE, None, (PICTURE,), id="a file"),
        pytest.param(ToolOutput({"a": 1}, (PICTURE, PICTURE)), {"a": 1}, (PICTURE, PICTURE), id="both"),
        pytest.param(ToolOutput([1]), [1], (), id="an output without files"),
        *[
            pytest.param(
                data, None, (File("output.bin", "application/octet-stream", b"\x00"),), id=type(data).__name__
            )
            for data in (b"\x00", bytearray(b"\x00"))
        ],
    ],
)
def test_a_result_has_its_files_apart(result: object, value: object, files: tuple[File, ...]) -> None:
    converted = convert(result)
    assert isinstance(converted, Converted)
    assert (converted.value, converted.files) == (value, files)


@pytest.mark.parametrize(("over", "kept"), [(0, True), (1, False)])
def test_a_result_has_so_many_files(over: int, kept: bool) -> None:
    files = (File("a", "text/plain", b""),) * (MAX_ATTACHMENTS + over)
    converted = convert(ToolOutput(None, files))
    if kept:
        assert isinstance(converted, Converted)
    else:
        assert converted == Problem("result_too_large", wording.too_many_files(MAX_ATTACHMENTS))  # type: ignore[arg-type]  # a word is equal to its member


# --- what a record keeps ---------------------------------------------------------------------------------


def sized(*sizes: int, value: int = 2) -> Converted:
    files = tuple(File("a", "text/plain", bytes(size)) for size in sizes)
    return Converted(None, bytes(value), files)


@pytest.mark.parametrize(
    ("converted", "overflow"),
    [
        pytest.param(sized(), None, id="nothing"),
        pytest.param(sized(value=100_000), None, id="a value at its limit"),
        pytest.param(sized(value=100_001), Overflow(100_001, 100_000), id="one over it"),
        pytest.param(sized(MAX_INLINE_BYTES), None, id="a file at its limit"),
        pytest.param(sized(1, MAX_INLINE_BYTES + 1), Overflow(16_385, 16_384), id="one over it too"),
        pytest.param(sized(10_000, 10_000, 5_000), None, id="all files at theirs"),
        pytest.param(sized(10_000, 10_000, 5_001), Overflow(25_001, 25_000), id="and over it"),
    ],
)
def test_what_a_record_does_not_hold(converted: Converted, overflow: Overflow | None) -> None:
    assert overflow_of(converted, PLACING) == overflow


def test_a_file_is_kept_under_a_handle_of_its_call() -> None:
    attached = Attached.of((PICTURE, File("log", "text/plain", b"")), PLACING, ["text"])
    first, second = attached.attachments
    assert first == ResultAttachment(
        name="chart.png",
        handle=derive_handle(*CALL, 0),
        content_type="image/png",
        size_bytes=4,
        observed_bytes=4,
        data=b"\x89PNG",
        stored="inline",
        sha256=hashlib.sha256(b"\x89PNG").hexdigest(),
        readable=False,
    )
    assert second.readable
    assert attached.blobs == ()
    handles = {derive_handle(RunId("run_2"), CALL[1], 0), first.handle, second.handle}
    assert len(handles) == 3
    assert all(handle.startswith("out_") and len(handle) == 28 for handle in handles)


@pytest.mark.parametrize(
    ("media_type", "kind", "part"),
    [
        *[
            pytest.param(f"image/{kind}", "image", ImagePart, id=kind)
            for kind in ("png", "jpeg", "gif", "webp")
        ],
        *[
            pytest.param(f"image/{kind}", "file", FilePart, id=f"{kind} is no picture that models read")
            for kind in ("svg+xml", "tiff", "x-icon")
        ],
        pytest.param("audio/wav", "audio", FilePart, id="audio"),
        pytest.param("video/mp4", "video", FilePart, id="video"),
        pytest.param("application/pdf", "file", FilePart, id="a document"),
        pytest.param("text/plain", "file", FilePart, id="a text"),
    ],
)
def test_a_model_is_shown_the_kinds_that_it_takes(
    media_type: str, kind: InputKind, part: type[ImagePart | FilePart]
) -> None:
    file = File("a", media_type, b"x")
    every: list[InputKind] = ["text", "image", "audio", "video", "file"]
    (shown,) = Attached.of((file,), PLACING, every).media
    assert (type(shown), shown.media) == (part, Media(media_type=media_type, data=b"x"))
    assert Attached.of((file,), PLACING, [kind]).media == (shown,)
    assert Attached.of((file,), PLACING, [other for other in every if other != kind]).media == ()


def test_a_file_that_is_larger_than_any_request_takes_is_not_shown() -> None:
    files = [File("a", "image/png", bytes(MAX_MEDIA_BYTES + over)) for over in (0, 1)]
    shown = Attached.of(files, PLACING, ["image"]).media
    assert [part.media.size_bytes for part in shown] == [MAX_MEDIA_BYTES]


@pytest.mark.parametrize(
    ("sizes", "slots"),
    [
        pytest.param((MAX_INLINE_BYTES, 1), (), id="small ones stay"),
        pytest.param((1, MAX_INLINE_BYTES + 1, 1), (1,), id="a large one goes"),
        pytest.param((10_000, 10_000, 5_001, 5_000), (2,), id="and what is too much together"),
    ],
)
def test_files_that_no_record_holds_go_to_blobs(sizes: tuple[int, ...], slots: tuple[int, ...]) -> None:
    files = [File(f"{slot}", "image/png", bytes([slot]) * size) for slot, size in enumerate(sizes)]
    attached = Attached.of(files, PLACING, ["image"])
    assert attached.blobs == tuple(Blob(f"call_1.3.{slot}", files[slot].data, "image/png") for slot in slots)
    for slot, (kept, part) in enumerate(zip(attached.attachments, attached.media, strict=True)):
        is_away = slot in slots
        assert (kept.stored, kept.data) == (("blob", None) if is_away else ("inline", files[slot].data))
        assert (kept.size_bytes, kept.sha256) == (sizes[slot], hashlib.sha256(files[slot].data).hexdigest())
        assert (part.media.blob_key, part.media.data) == (
            (f"call_1.3.{slot}", None) if is_away else (None, files[slot].data)
        )
        assert (part.media.size_bytes, part.media.sha256) == (kept.size_bytes, kept.sha256)


def placed(value: Any, placing: Placing = PLACING) -> PlacedValue:
    converted = convert(value)
    assert isinstance(converted, Converted)
    return PlacedValue.of(converted, placing, Masks({}))


def test_a_small_value_stands_in_its_record_and_is_told_whole() -> None:
    assert placed("x" * 998) == PlacedValue("x" * 998)


def test_a_large_value_stands_in_its_record_and_is_told_in_part() -> None:
    assert placed("x" * 999) == PlacedValue("x" * 999, derive_handle(*CALL), "x" * 999)
    value = ["ü" * 3_000]
    assert placed(value) == PlacedValue(value, derive_handle(*CALL), '["' + "ü" * 1_998)


def test_a_larger_one_goes_to_a_blob_as_the_bytes_it_was_encoded_to() -> None:
    value = {"b": "x" * 100_000, "a": 1}
    encoded = b'{"a":1,"b":"' + b"x" * 100_000 + b'"}'
    found = placed(value)
    assert found.blob == Blob("call_1.3", encoded, "application/json")
    assert (found.value, found.preview) == (None, encoded[:2_000].decode())
    eager = Placing(*CALL, epoch=1, large_bytes=1_000, offload_bytes=4)
    assert placed(["abc"], eager).blob == Blob("call_1.1", b'["abc"]', "application/json")


def test_a_result_and_its_files_have_handles_of_their_own() -> None:
    handles = {derive_handle(*CALL), derive_handle(*CALL, 0), derive_handle(*CALL, 1)}
    assert len(handles) == 3
    assert derive_handle(*CALL).startswith("res_")
    assert set(HANDLE.findall(f"{handles}")) == handles
    assert not HANDLE.search(f"{derive_handle(*CALL)}0"), "no part of a longer word is one"
    assert derive_handle(RunId("run_2"), CALL[1]) != derive_handle(*CALL)
