"""Q13 to Q15: pictures, documents and sound, from a user and out of a tool."""

from __future__ import annotations

from collections.abc import Iterator

from psych_runtime_contract.model.corpus.requests.case import (
    BEGIN,
    RequestCase,
    answer,
    call,
    request,
    result,
)
from psych_runtime_core.messages import FilePart, ImagePart, Media, Part, TextPart, UserMessage
from psych_runtime_core.ports.model import ModelCapabilities

PNG = Media(media_type="image/png", data=b"\x89PNG")
PDF = Media(media_type="application/pdf", data=b"%PDF")
BY_URL = Media(media_type="image/png", url="https://img.example/a.png")
PICTURE = '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}'
DOCUMENT = '{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}'

SENT: dict[str, tuple[Part, str]] = {
    "Q13.bytes": (ImagePart(media=PNG), PICTURE),
    "Q13.a URL": (
        ImagePart(media=BY_URL),
        '{"type":"image_url","image_url":{"url":"https://img.example/a.png"}}',
    ),
    "Q13.in low detail": (
        ImagePart(media=BY_URL, detail="low"),
        '{"type":"image_url","image_url":{"url":"https://img.example/a.png","detail":"low"}}',
    ),
    "Q13.in a file": (FilePart(media=PNG, name="a.png"), PICTURE),
    "Q14.a document": (FilePart(media=PDF, name="a.pdf"), DOCUMENT),
    "Q14.wav": (
        FilePart(media=Media(media_type="audio/wav", data=b"RIFF"), name="a.wav"),
        '{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}',
    ),
    "Q14.mp3": (
        FilePart(media=Media(media_type="audio/mpeg", data=b"ID3"), name="a.mp3"),
        '{"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}}',
    ),
}
REFUSED: dict[str, tuple[Part, str]] = {
    "Q14.video": (
        FilePart(media=Media(media_type="video/mp4", data=b"x"), name="a.mp4"),
        "unsupported_input",
    ),
    "Q14.a sound of another kind": (
        FilePart(media=Media(media_type="audio/ogg", data=b"x"), name="a.ogg"),
        "unsupported_input",
    ),
    "Q14.a document by its URL": (
        FilePart(media=Media(media_type="application/pdf", url="https://doc.example/a.pdf"), name="a.pdf"),
        "unsupported_input",
    ),
    "Q14.a blob that is gone": (
        FilePart(media=Media(media_type="application/pdf", blob_key="b1"), name="a.pdf"),
        "media_missing",
    ),
}


def _of_a_user() -> Iterator[RequestCase]:
    for name, (part, block) in SENT.items():
        body = f'{BEGIN}"messages":[{{"role":"user","content":[{{"type":"text","text":"See:"}},{block}]}}]}}'
        yield RequestCase(id=name, dialect="other", request=request(_showing(part)), body=body)
    for name, (part, code) in REFUSED.items():
        yield RequestCase(id=name, dialect="other", request=request(_showing(part)), refused=code)
    texts = UserMessage(content=(TextPart(text="See"), TextPart(text=": it.")))
    body = f'{BEGIN}"messages":[{{"role":"user","content":"See: it."}}]}}'
    yield RequestCase(id="Q13.text alone", dialect="other", request=request(texts), body=body)


def _showing(part: Part) -> UserMessage:
    return UserMessage(content=(TextPart(text="See:"), part))


CALLS = (
    '{"role":"assistant","content":"","tool_calls":['
    '{"id":"call_0","type":"function","function":{"name":"look","arguments":"{}"}},'
    '{"id":"call_1","type":"function","function":{"name":"look","arguments":"{}"}}]},'
)


def _of_tools() -> Iterator[RequestCase]:
    asked = request(
        answer("other", call("call_0"), call("call_1")),
        result("call_0", (TextPart(text="Here:"), ImagePart(media=PNG))),
        result("call_1", (FilePart(media=PDF, name="a.pdf"),)),
        UserMessage(content="Weiter ✓"),
    )
    moved = (
        f'{BEGIN}"messages":[{CALLS}'
        '{"role":"tool","tool_call_id":"call_0","content":"Here:"},'
        '{"role":"tool","tool_call_id":"call_1","content":""},'
        f'{{"role":"user","content":[{{"type":"text","text":"From look:"}},{PICTURE},'
        f'{{"type":"text","text":"From look:"}},{DOCUMENT}]}},'
        '{"role":"user","content":"Weiter ✓"}]}'
    )
    yield RequestCase(id="Q15.moved behind the results", dialect="other", request=asked, body=moved)
    kept = (
        f'{BEGIN}"messages":[{CALLS}{{"role":"tool","tool_call_id":"call_0","content":'
        f'[{{"type":"text","text":"Here:"}},{PICTURE}]}},'
        f'{{"role":"tool","tool_call_id":"call_1","content":[{DOCUMENT}]}},'
        '{"role":"user","content":"Weiter ✓"}]}'
    )
    able = ModelCapabilities(tool_result_media=True)
    yield RequestCase(id="Q15.kept", dialect="other", request=asked, body=kept, capabilities=able)


CASES: tuple[RequestCase, ...] = (*_of_a_user(), *_of_tools())
