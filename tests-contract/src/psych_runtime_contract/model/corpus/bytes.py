"""B: bytes. Line ends, encodings, events that are cut, empty, broken or too large."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

from psych_runtime.testing.http_stub import Reply
from psych_runtime_contract.model.cases import Outcome, WireCase
from psych_runtime_contract.model.chat import (
    DONE,
    SSE,
    Payload,
    broken,
    event,
    finish,
    sent,
    sse,
    streamed,
    text,
    unended,
)
from psych_runtime_contract.model.lapse import Silence

MIB = 1024 * 1024
HELLO = Outcome(text="Hello")


def bare(content: str) -> Payload:
    """The shortest chunk with text."""
    return {"choices": [{"delta": {"content": content}}]}


# Short enough to be cut at every boundary.
SHORT: tuple[Payload, ...] = (bare("Hel"), bare("lo"), DONE)
WHOLE: tuple[Payload, ...] = (text("Hel"), text("lo"), finish(), DONE)
BODY = sse(*WHOLE)
# What is left of an answer after its text.
REST = sse(finish(), DONE)
JUNK = "no JSON, " * 100
OTHER_TYPES = {
    "plain text": {"content-type": "text/plain"},
    "no content type": {},
    "another charset": {"content-type": "text/event-stream; charset=iso-8859-1"},
}


def _line_ends() -> Iterator[WireCase]:
    for name, end in {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}.items():
        yield WireCase(f"B1.{name}", sent(sse(*SHORT, end=end)), HELLO, "every")
    mixed = b"".join(
        event(payload, end=end) for payload, end in zip(SHORT, (b"\r\n", b"\n", b"\r"), strict=True)
    )
    yield WireCase("B1.mixed", sent(mixed), HELLO, "every")
    yield WireCase("B1.mixed within an event", sent(BODY.replace(b"\n\n", b"\r\n\r")), HELLO)


def _characters() -> Iterator[WireCase]:
    yield WireCase("B2", sent(b"\xef\xbb\xbf" + sse(*SHORT)), HELLO, "every")
    yield WireCase("B3", streamed(bare("zoë € 😀")), Outcome(text="zoë € 😀"), "every")
    invalid = {"a byte": b"a\xffb", "half a character": b"a\xe2\x82b"}
    for name, content in invalid.items():
        body = event(b'{"choices":[{"delta":{"content":"' + content + b'"}}]}') + event(text("!")) + REST
        yield WireCase(f"B4.{name}", sent(body), Outcome(text="a\ufffdb!"))
    pair = streamed(text("a\ud83d"), text("\ude00b"), finish())
    yield WireCase("B5.split", pair, Outcome(text="a😀b"))
    yield WireCase("B5.lone", streamed(text("a\ud83d"), text("b"), finish()), Outcome(text="a\ufffdb"))
    yield WireCase("B5.lone low", streamed(text("a\ude00"), text("b"), finish()), Outcome(text="a\ufffdb"))
    yield WireCase("B5.lone at the end", streamed(text("a\ud83d"), finish()), Outcome(text="a\ufffd"))


def _lines() -> Iterator[WireCase]:
    comment = b": still here\n\n"
    yield WireCase("B6.before", sent(comment + BODY), HELLO)
    yield WireCase("B6.between", sent(sse(text("Hel")) + comment + b":\n" + sse(text("lo")) + REST), HELLO)
    # Each silence is shorter than the idle timeout of a request, all of them are longer.
    alone = (Silence(200), comment) * 3
    held = broken(sse(text("Hel")), *alone, sse(text("lo")), REST)
    yield WireCase("B6.alone for long", held, HELLO, "few")
    yield WireCase("B7.without a space", sent(BODY.replace(b"data: ", b"data:")), HELLO)
    yield WireCase("B7.with two", sent(BODY.replace(b"data: ", b"data:  ")), HELLO)
    several = b'data: {"choices":\ndata: [{"delta":\ndata: {"content":"Hello"}}]}\n\n'
    yield WireCase("B8", sent(several + REST), HELLO)
    lines = sse(text("Hel")).rstrip() + b"\n" + sse(text("lo")).rstrip() + b"\n" + sse(finish())
    yield WireCase("B9", sent(lines + event(DONE)), HELLO)
    named = b"event: message\nid: 7\nretry: 3000\n"
    yield WireCase("B10.other fields", sent(named + sse(text("Hel")) + named + sse(text("lo")) + REST), HELLO)
    yield WireCase("B10.retry alone", sent(b"retry: 3000\n\n" + BODY), HELLO)
    empty = b"data:\n\ndata: \n\ndata\n\n"
    yield WireCase("B10.empty data", sent(sse(text("Hel")) + empty + sse(text("lo")) + REST), HELLO)
    yield WireCase("B11", streamed(": PROCESSING", text("Hel"), ": PROCESSING", text("lo"), finish()), HELLO)
    strangers = ("null", "[]", '"x"', "7", '{"choices":[null]}', '{"choices":["x"]}', '{"choices":"x"}')
    for payload in strangers:
        reply = streamed(text("Hel"), payload, text("lo"), finish())
        yield WireCase(f"B12.{payload}", reply, HELLO)
    breaks = {"as they are": "a\u2028b\u0085c", "as escapes": "a\u2028b\u0085c\x0bd\x0ce"}
    for name, content in breaks.items():
        yield WireCase(f"B13.{name}", streamed(text(content), finish()), Outcome(text=content))
    escapeless = event(b'{"choices":[{"delta":{"content":"a\x0bb\x0cc"}}]}') + REST
    yield WireCase("B13.bare VT and FF", sent(escapeless), Outcome(text="a\x0bb\x0cc"))


def _ends() -> Iterator[WireCase]:
    last = sse(text("Hel"), text("lo"), finish())
    yield WireCase("B14.no empty line", sent(last[:-1]), HELLO)
    yield WireCase("B14.no line end", sent(last[:-2]), HELLO)
    yield WireCase("B14.no line end after [DONE]", sent(sse(text("Hello"), DONE)[:-2]), HELLO)
    truncated = Outcome(error="transient", code="truncated", text="Hel")
    yield WireCase("B15", sent(sse(text("Hel"), text("lo"))[:-9]), truncated)
    malformed = Outcome(
        error="transient",
        code="malformed_event",
        text="Hel",
        message_contains=(JUNK[:100],),
        message_hides=(JUNK[:201],),
    )
    yield WireCase("B16", streamed(text("Hel"), JUNK, text("lo"), finish()), malformed)


def _large() -> Iterator[WireCase]:
    too_large = Outcome(error="too_large")
    yield WireCase("B17.event", _large_event, too_large, "few")
    yield WireCase("B17.stream", _large_stream, too_large, "few")
    nested = Outcome(error="transient", code="malformed_event")
    yield WireCase("B18.list", unended('{"x":' + "[" * 100_000 + "]" * 100_000 + "}", *WHOLE), nested, "few")
    yield WireCase("B18.object", unended('{"x":' * 100_000 + "1" + "}" * 100_000, *WHOLE), nested, "few")


def _large_event() -> Reply:
    return streamed(b"{" + b" " * 8 * MIB + b"}", *WHOLE)


def _large_stream() -> Reply:
    """257 MiB of comments, packed; the packed ones are alike, so they are made once."""
    comment = b":" + b" " * (MIB - 2) + b"\n"
    packer = zlib.compressobj(1, wbits=31)
    first, other = (packer.compress(comment) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return sent(first + other * 256, headers={**SSE, "content-encoding": "gzip"})


def _coded() -> Iterator[WireCase]:
    packed = gzip.compress(BODY, mtime=0)
    gzipped, deflated = ({**SSE, "content-encoding": coding} for coding in ("gzip", "deflate"))
    yield WireCase("B19.gzip", sent(packed, headers=gzipped), HELLO)
    yield WireCase("B19.deflate", sent(zlib.compress(BODY), headers=deflated), HELLO)
    cut = sent(gzip.compress(sse(text("Hello"), *[text("!")] * 9), mtime=0)[:-20], headers=gzipped)
    yield WireCase("B19.gzip cut short", cut, Outcome(error="transient"))
    yield WireCase("B19.bomb", _bomb, Outcome(error="too_large"), "few")
    for name, headers in OTHER_TYPES.items():
        reply = streamed(text("zoë"), finish(), headers=headers)
        yield WireCase(f"B20.{name}", reply, Outcome(text="zoë"))


def _bomb() -> Reply:
    """One event of 64 MiB in 64 KiB."""
    packed = gzip.compress(b"data: " + b" " * 64 * MIB + b"\n\n", mtime=0)
    return sent(packed, headers={**SSE, "content-encoding": "gzip"})


CASES: tuple[WireCase, ...] = (*_line_ends(), *_characters(), *_lines(), *_ends(), *_large(), *_coded())
