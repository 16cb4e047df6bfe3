"""What a reply says it is written in: read in little time, and believed only where it does no harm."""

from __future__ import annotations

import codecs
import random
import time
from encodings.aliases import aliases

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.http_scenes import Calls, context_in, http_tool, runtime_of
from psych_runtime.egress.charsets import CODECS, MAX_CONTENT_TYPE, charset_in, codec_of
from psych_runtime.egress.replies import Reply as Received
from psych_runtime.egress.replies import handed_on
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime.tools.http.reply import HttpReply, value_of
from psych_runtime.tools.output import File

# Codecs of Python that are none of a text on the web: slow, an attack, or no text at all.
HARMFUL = (
    *("punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7"),
    *("base64", "bz2", "hex", "quopri", "rot13", "uu", "zlib", "zip"),
    *("mbcs", "oem", "charmap", "ebcdic-cp-us", "cp037"),
)
BYPASSES = (
    "-punycode",
    "_punycode",
    "punycode_",
    "-idna",
    "unicode--escape",
    " idna",
    "utf--7",
    "-zlib",
    ".hex",
)


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        pytest.param("text/plain", None, id="none"),
        pytest.param("", None, id="nothing at all"),
        pytest.param("text/plain; charset=utf-8", "utf-8", id="a bare one"),
        pytest.param('text/plain;CharSet="utf-8"', "utf-8", id="a quoted one, in any case"),
        pytest.param("text/plain; a=b ; charset = utf-8 ; c=d", "utf-8", id="among others, with blanks"),
        pytest.param(
            'text/plain; a="; charset=x"; charset=y', "y", id="what stands in quotes is no parameter"
        ),
        pytest.param(r'text/plain; a="\"; charset=x"; charset=y', "y", id="nor behind a quoted quote"),
        pytest.param("text/plain; charset=a; charset=b", "a", id="the first of two"),
        pytest.param("text/plain; charset=", None, id="an empty one"),
        pytest.param("text/plain; xcharset=a", None, id="another name"),
        pytest.param("text/plain; charset*=utf-8''a", None, id="an extended one"),
        pytest.param("charset=utf-8", None, id="no parameter"),
        pytest.param('text/plain; charset="utf-8', None, id="without the end of its quotes"),
        pytest.param(
            f"text/plain; charset=a; b={'c' * MAX_CONTENT_TYPE}",
            None,
            id="of what is too long nothing counts",
        ),
    ],
)
def test_the_charset_of_a_content_type(content_type: str, charset: str | None) -> None:
    assert charset_in(content_type) == charset


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        *[(name, "utf_8") for name in ("utf-8", "UTF8", "utf_8", "'utf-8'", "cp65001")],
        *[(name, "latin_1") for name in ("latin1", "ISO-8859-1", "iso8859-1", "l1", "csISOLatin1")],
        *[(name, "ascii") for name in ("us-ascii", "ASCII", "ANSI_X3.4-1968", "646")],
        *[(name, "cp1252") for name in ("windows-1252", "cp1252")],
        *[(name, "shift_jis") for name in ("Shift_JIS", "sjis", "csShiftJIS")],
        *[("ISO-8859-15", "iso8859_15"), ("KOI8-R", "koi8_r"), ("GB2312", "gb2312"), ("EUC-KR", "euc_kr")],
        *[("utf-16", "utf_16"), ("UTF-16LE", "utf_16_le"), ("Big5-HKSCS", "big5hkscs")],
        *[(name, None) for name in ("klingon", "", "-", "utf-8\0utf-8", "encodings.utf_8", "utf-8" * 20)],
        *[(name, None) for name in (*HARMFUL, *BYPASSES)],
    ],
)
def test_only_a_charset_of_text_on_the_web_has_a_codec(charset: str, codec: str | None) -> None:
    assert codec_of(charset) == codec


MARKS = st.text("-_ .,;:'\"/\\*+\t\0é", max_size=4)


@given(st.sampled_from(sorted({*HARMFUL, *aliases, *aliases.values()})), st.data())
def test_no_spelling_leads_to_another_codec_than_the_plain_name(name: str, data: st.DataObject) -> None:
    parts = name.replace(".", "_").split("_")
    spelled = data.draw(MARKS) + "".join(part + (data.draw(MARKS) or "-") for part in parts)
    assert codec_of(spelled) in {codec_of(name), None}
    assert codec_of(spelled.upper()) == codec_of(spelled)


@given(st.text(max_size=40))
def test_what_has_a_codec_is_what_python_reads_under_that_name(charset: str) -> None:
    codec = codec_of(charset)
    assert codec is None or (codec in CODECS and codecs.lookup(codec).name)


def test_every_codec_is_one_of_python() -> None:
    named = {codecs.lookup(codec).name.replace("-", "_") for codec in CODECS}
    assert len(named) == len(CODECS)
    for codec in CODECS:
        assert codec_of(codec) == codec
        assert "a".encode(codec).decode(codec).lstrip("\ufeff") == "a"


# What a codec may stumble over, again and again: half a character, the beginning of a shift, nothing at all;
# and what every codec of text reads at once.
ODD = (
    b"\xff",
    b"\x80",
    b"\x81",
    b"\xa1",
    b"\xc3",
    b"\x1b",
    b"\x1b$B",
    b"\x1b(",
    b"\x0e",
    b"~{",
    b"+",
    b"\xd8\0",
)
PLAIN = (b"a", b"b", b"9", b"az")


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_a_codec_takes_time_in_proportion(codec: str) -> None:
    odd = [(piece * 16 * 1024)[: 16 * 1024] for piece in (*ODD, random.Random(1).randbytes(1024))]
    plain = [(piece * 512 * 1024)[: 512 * 1024] for piece in PLAIN]
    begun = time.process_time()
    for body in (*odd, *plain):
        for errors in ("strict", "replace"):
            try:
                body.decode(codec, errors)
            except UnicodeError:
                assert errors == "strict"
    # Measured: 0.3 s at most. One that is slow takes a minute.
    assert time.process_time() - begun < 10


# --- as it is handed on ----------------------------------------------------------------------------------

FILLERS = (
    ";",
    " ",
    '"',
    "a;",
    "a=b;",
    "; a=",
    ';a="',
    "\\",
    '\\"',
    "; charset=",
    "charset",
    "=",
    ",",
    "a, ",
    "\t;",
)
STARTS = ("", "text/plain;", 'text/plain; a="', "text/plain; charset=", 'text/plain; charset="')
LONG = 95_000


def received(content_type: str, body: bytes = b"abc") -> Received:
    return Received(200, headers={"content-type": content_type}, content=body)


@pytest.mark.parametrize("start", STARTS, ids=ascii)
@pytest.mark.parametrize("filler", FILLERS, ids=ascii)
def test_a_long_content_type_is_read_in_no_time(start: str, filler: str) -> None:
    content_type = start + filler * (LONG // len(filler))
    begun = time.process_time()
    assert received(content_type).text == "abc"
    value = value_of(HttpReply(200, {"content-type": content_type}, b"abc"), "t")
    assert value == "abc" or isinstance(value, File)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("filler", ["a, ", ",", ", <", "a=b;", "1 ", "GMT "])
@pytest.mark.parametrize("header", ["set-cookie", "set-cookie2", "link", "content-type", "date"])
def test_what_a_reader_asks_of_the_headers_is_read_in_no_time(header: str, filler: str) -> None:
    headers = httpx2.Headers([("set-cookie", "a=b"), (header, filler * (LONG // len(filler)))])
    request = httpx2.Request("GET", "https://a.example/")
    reply = Received(200, headers=handed_on(headers), content=b"abc", request=request)
    begun = time.process_time()
    assert (reply.text, reply.encoding) == ("abc", "utf-8")
    assert len(reply.cookies) <= 2
    assert "none" not in reply.links
    assert time.process_time() - begun < 0.3


@pytest.mark.parametrize("charset", [*HARMFUL, *BYPASSES, "klingon", ""])
async def test_a_tools_own_code_reads_no_text_by_a_harmful_charset(charset: str) -> None:
    body = b"xn--a-\\u00e9"
    async with HttpStub() as stub:
        stub.on("GET", "/a", Reply(body=body, headers={"content-type": f'text/plain; charset="{charset}"'}))
        http = context_in(runtime_of()).http
        reply = await http.request("GET", f"{stub.url}/a")
        assert (reply.encoding, reply.text) == ("utf-8", body.decode())
        async with http.stream("GET", f"{stub.url}/a") as streamed:
            assert "".join([piece async for piece in streamed.aiter_text()]) == body.decode()
        async with http.client() as client:
            assert (await client.get(f"{stub.url}/a")).text == body.decode()


@pytest.mark.parametrize("charset", [*HARMFUL, *BYPASSES])
async def test_an_http_tool_reads_no_text_by_a_harmful_charset(charset: str) -> None:
    async with HttpStub() as stub:
        stub.on("GET", "/a", Reply(body=b"abc", headers={"content-type": f'text/plain; charset="{charset}"'}))
        assert await Calls(http_tool(stub)).result() == File("t.plain", "text/plain", b"abc")


async def test_a_tools_own_code_reads_text_in_the_charset_it_came_in() -> None:
    async with HttpStub() as stub:
        answer = Reply(
            body="é".encode("cp1252"), headers={"content-type": "text/plain; charset=windows-1252"}
        )
        stub.on("GET", "/a", answer)
        assert (await context_in(runtime_of()).http.request("GET", f"{stub.url}/a")).text == "é"
