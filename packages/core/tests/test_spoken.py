"""What an input says: text, pictures and documents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.jsonvalue import decode_json, encode_json
from psych_runtime_core.messages import FilePart, ImagePart, Media, Part, TextPart
from psych_runtime_core.spoken import content_of_input, kind_of_part, payload_of, refused_kinds
from psych_runtime_core.texts import text_of_input

PNG = Media(media_type="image/png", data=b"\x89PNG")
PICTURE = ImagePart(media=PNG, detail="low")
PDF = FilePart(media=Media(media_type="application/pdf", url="https://example.com/a.pdf"), name="a.pdf")
SOUND = FilePart(media=Media(media_type="audio/wav", data=b"RIFF"), name="a.wav")
FILM = FilePart(media=Media(media_type="video/mp4", data=b"ftyp"), name="a.mp4")
SAID: tuple[Part, ...] = (TextPart(text="What is this?"), PICTURE, PDF)


def test_parts_come_back_as_they_were_given() -> None:
    payload = decode_json(encode_json(payload_of(SAID)))
    assert content_of_input(payload) == SAID
    assert content_of_input(payload_of([part.model_dump(mode="json") for part in SAID])) == SAID


def test_people_read_texts_and_what_stands_beside_them() -> None:
    assert text_of_input(payload_of(SAID)) == (
        "What is this?\n[image: image/png, 4 bytes]\n[file a.pdf: application/pdf]"
    )


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([], id="an empty list"),
        pytest.param(["a"], id="texts"),
        pytest.param([{"type": "text"}], id="a part without its text"),
        pytest.param([{"type": "image", "media": {"media_type": "image/png"}}], id="no source"),
        pytest.param(
            [{"type": "image", "media": {"media_type": "image/png", "blob_key": "k"}}], id="a blob's key"
        ),
        pytest.param(
            [{"type": "image", "media": {"media_type": "image/png", "url": "http://example.com/a"}}],
            id="a plain URL",
        ),
        pytest.param([{"type": "reasoning", "text": "hm"}], id="what only a model says"),
        pytest.param([{"type": "text", "text": ""}], id="an empty text"),
        pytest.param([{"type": "text", "text": ""}, {"type": "text", "text": " \n"}], id="blanks alone"),
        pytest.param([{"type": "image", "media": {"media_type": "image/png", "data": ""}}], id="no bytes"),
        pytest.param(
            [{"type": "text", "text": "x"}, {**PDF.model_dump(), "media": {"media_type": "a/b", "data": ""}}],
            id="no bytes beside a text",
        ),
    ],
)
def test_a_list_that_is_no_message_is_json_like_any_other(said: list[Any]) -> None:
    payload = {"message": said}
    assert content_of_input(payload) == encode_json(payload).decode()


def test_a_blank_text_beside_what_says_something_is_left_out() -> None:
    parts = [TextPart(text=""), PICTURE, TextPart(text=" \n"), TextPart(text=" x ")]
    for payload in (payload_of(parts), {"message": [part.model_dump(mode="json") for part in parts]}):
        assert content_of_input(payload) == (PICTURE, TextPart(text=" x "))


@given(st.lists(st.sampled_from([*SAID, TextPart(text=""), TextPart(text="\t")])))
def test_no_part_of_an_input_says_nothing(parts: list[Part]) -> None:
    content = content_of_input({"message": [part.model_dump(mode="json") for part in parts]})
    assert content
    assert not [part for part in content if isinstance(part, TextPart) and not part.text.strip()]


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        pytest.param([{"type": "text"}], "part 0.text.text: Field required", id="a field is missing"),
        pytest.param(["a"], "part 0", id="no part"),
        pytest.param([], "say nothing", id="no parts"),
        pytest.param([TextPart(text=" ")], "say nothing", id="blanks"),
        pytest.param([ImagePart(media=Media(media_type="image/png", data=b""))], "no data", id="no bytes"),
        pytest.param(
            [ImagePart(media=Media(media_type="image/png", blob_key="k"))], "names a blob", id="a blob's key"
        ),
    ],
)
def test_what_is_no_part_is_refused(parts: list[Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        payload_of(parts)


@pytest.mark.parametrize(
    ("part", "kind"),
    [(SAID[0], "text"), (PICTURE, "image"), (PDF, "file"), (SOUND, "audio"), (FILM, "video")],
    ids=["text", "image", "file", "audio", "video"],
)
def test_a_part_is_of_the_kind_that_a_model_must_accept(part: Part, kind: str) -> None:
    assert kind_of_part(part) == kind
    assert refused_kinds(payload_of([part]), ("text",)) == (() if kind == "text" else (kind,))


def test_each_refused_kind_is_named_once() -> None:
    assert refused_kinds(payload_of([PICTURE, PDF, PICTURE]), ("text",)) == ("image", "file")
    assert refused_kinds({"message": "hello"}, ()) == ()


MEDIA_FAULTS: dict[str, dict[str, Any]] = {
    "two sources": {"data": b"a", "url": "https://example.com/a"},
    "none": {},
    "another size": {"data": b"a", "size_bytes": 2},
    "another digest": {"data": b"a", "sha256": "0" * 64},
    "a user in the URL": {"url": "https://me:secret@example.com/a"},
    "a blank in the URL": {"url": "https://example.com/a b"},
    "an unlimited size": {"url": "https://example.com/a", "size_bytes": 10**30},
    "no media type": {"data": b"a", "media_type": "png"},
}


@pytest.mark.parametrize("fields", MEDIA_FAULTS.values(), ids=MEDIA_FAULTS.keys())
def test_media_that_contradicts_itself_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Media(**{"media_type": "image/png", **fields})


@given(st.binary(max_size=64))
def test_media_says_how_large_it_is_and_reads_back_from_json(data: bytes) -> None:
    media = Media(media_type="image/png", data=data)
    assert media.size_bytes == len(data)
    assert Media.model_validate_json(media.model_dump_json()) == media
