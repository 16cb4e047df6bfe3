"""A secret is found in every spelling that a wire gives it, and the text around it stays as it was."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.runtime.tests.effort import effort_of
from packages.runtime.tests.http_scenes import context_in, runtime_of
from psych_runtime.model.errors.replies import CallErrors, error_of_reply
from psych_runtime.secrets.forms import Form
from psych_runtime.secrets.in_memory import InMemorySecretResolver
from psych_runtime.secrets.masks import Masks
from psych_runtime.secrets.spellings import Spellings
from psych_runtime.tools.context import secrets_of

SECRET = "sk/live'+12\"34\\56<é€😀&>\t=="
KEY = "sk/live+12345678=="
ERRORS = CallErrors(provider="p", model="m", secrets=(KEY,))
Spell = Callable[[str], str]


def escapes(text: str) -> str:
    """Each UTF-16 unit as an escape of JSON."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def percents(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def bytewise(text: str) -> str:
    """Each byte as Python and JavaScript show those that are no ASCII."""
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def octal(text: str) -> str:
    """Each byte as Git, C and shells show those that are no ASCII."""
    return "".join(f"\\{byte:03o}" for byte in text.encode())


def in_braces(text: str) -> str:
    return "".join(f"\\u{{{ord(char):x}}}" for char in text)


def between(quote: str) -> Spell:
    """What stands between such quotes where one that is meant is doubled."""
    return lambda text: text.replace(quote, 2 * quote)


SPELLINGS: dict[str, Spell] = {
    "as it is": str,
    "in capitals": lambda text: text.upper() if len(text.upper()) == len(text) else text,
    "in JSON": lambda text: json.dumps(text)[1:-1],
    "in JSON of UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "in JSON with escaped slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "in JSON, each character": escapes,
    "in JSON, in capitals": lambda text: escapes(text).upper().replace("\\U", "\\u"),
    "in JSON that lies in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "in a URL": lambda text: quote(text, safe=""),
    "in a path": quote,
    "in a URL, in small letters": percents,
    "in a URL, each character": lambda text: percents(text).upper(),
    "in a URL in a URL": lambda text: quote(quote(text, safe=""), safe=""),
    "in a URL in JSON": lambda text: escapes(quote(text, safe="")),
    "in HTML": html.escape,
    "in HTML, without semicolons": lambda text: html.escape(text).replace(";", ""),
    "in HTML, by number": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "in HTML, in hexadecimal": lambda text: "".join(f"&#x{ord(char):X};" for char in text),
    "in HTML in JSON": lambda text: json.dumps(html.escape(text))[1:-1],
    "in the repr of bytes": lambda text: repr(text.encode())[2:-1],
    "in the repr of bytes, each character": bytewise,
    "in the repr of bytes, in JSON": lambda text: json.dumps(bytewise(text))[1:-1],
    "in octal bytes": octal,
    "in octal bytes, in JSON": lambda text: json.dumps(octal(text))[1:-1],
    "in braces": in_braces,
    "in braces, in Perl": lambda text: in_braces(text).upper().replace("\\U", "\\x"),
    "in CSV": between('"'),
    "in SQL and YAML": between("'"),
    "in CSV that lies in CSV": lambda text: between('"')(between('"')(text)),
    "in CSV that lies in JSON": lambda text: json.dumps(between('"')(text))[1:-1],
    "in JSON that lies in CSV": lambda text: between('"')(json.dumps(text)[1:-1]),
    "in SQL that lies in HTML": lambda text: html.escape(between("'")(text)),
    "as Latin-1, by number": lambda text: "".join(f"\\x{ord(c):02X}" if ord(c) < 256 else c for c in text),
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("secret", [SECRET, KEY, "İstanbul-ΑΣ-key"], ids=["hostile", "usual", "of letters"])
def test_a_secret_is_found_however_it_is_spelled(spell: Spell, secret: str) -> None:
    masks = Masks({secret: "k"})
    for around in ("{}", "a {} b", "\\n{}\\n", "%41&amp;{}%", "é\\u00e9{}\\", "{0} and {0}"):
        text = around.format(spell(secret))
        shown = around.replace("{0}", "{}").replace("{}", "[secret:k]")
        assert masks.text(text) == shown
        assert masks.data(text.encode()) == shown.encode()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"bad key sk\\/live+12345678==", id="slashes, in no JSON"),
        pytest.param(b'{"error":"bad \\u0073k/live+12345678==', id="JSON that was cut"),
        pytest.param(b'{"error":{"message":"bad sk\\/live+12345678=="}}', id="JSON"),
        pytest.param(b"<p>bad sk&#x2F;live&#43;12345678==</p>", id="a page"),
        pytest.param(b"bad sk&sol;live&plus;12345678&equals;&equals;", id="entities, in no page"),
        pytest.param(b"/v1?key=sk%2flive%2b12345678%3d%3d", id="a query"),
        pytest.param(b"/v1/sk/live%2B12345678%3D%3D", id="a path"),
    ],
)
def test_an_error_of_a_model_shows_a_key_in_no_spelling(body: bytes) -> None:
    message = error_of_reply(401, {}, body, ERRORS).message
    assert "***" in message
    assert not [piece for piece in ("live", "12345678") if piece in message]


SPELL_ONE: list[Spell] = [
    str,
    escapes,
    percents,
    bytewise,
    octal,
    in_braces,
    lambda char: f"&#{ord(char)};",
    lambda char: json.dumps(char, ensure_ascii=False)[1:-1],
]
plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\\%&\0\ufffd"), min_size=1)


@given(st.data(), plain.filter(lambda text: "*" not in text))
def test_each_character_may_be_spelled_in_its_own_way(data: st.DataObject, secret: str) -> None:
    ways = data.draw(st.lists(st.sampled_from(SPELL_ONE), min_size=len(secret), max_size=len(secret)))
    spelled = "".join(way(char) for way, char in zip(ways, secret, strict=True))
    # In HTML these numbers are those of other characters.
    if not any(0x80 <= ord(char) < 0xA0 or ord(char) < 32 or char.isspace() for char in secret):
        assert Spellings({secret: "***"}).replaced(f"…{spelled}…") == "…***…"


def for_go(text: str) -> str:
    """What stands between the quotes of JSON as Go writes it."""
    return json.dumps(text)[1:-1].replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


WIRES: list[Spell] = [
    *(quote, html.escape, for_go, between('"'), between("'")),
    lambda text: json.dumps(text)[1:-1],
]
own_marks = st.sampled_from(
    [*("%41", "%2F", "\\n", "\\u0041", "\\101", "\\u{41}", "&lt;", "&#65;", "&lt", "&#65", "%s"),
     *("\\", "&", '"', '""', "'", "/", "é")]
)  # fmt: skip


@given(st.lists(st.sampled_from(WIRES), max_size=3), st.lists(own_marks, min_size=1, max_size=5))
def test_a_secret_that_looks_like_a_spelling_is_found_behind_others(
    wires: list[Spell], own: list[str]
) -> None:
    secret = spelled = f"-{'-'.join(own)}-"
    for wire in wires:
        spelled = wire(spelled)
    assert Spellings({secret: "***"}).replaced(f"({spelled})") == "(***)"


def test_what_a_secret_says_when_it_is_read_is_no_secret() -> None:
    assert Spellings({"%41%42%43": "***"}).replaced("ABC %25 %41%42%43") == "ABC %25 ***"


# No text below holds a Cyrillic letter, or spells one.
others = st.text(st.characters(exclude_characters="жЖ"), min_size=1) | st.text(
    st.sampled_from("\\u00%4&#x;12a/\"'\ud83d\ude00"), min_size=1
)


@given(st.data(), others)
def test_a_text_without_the_secret_is_left_alone(data: st.DataObject, text: str) -> None:
    secret = "ж" + data.draw(st.text(st.sampled_from("щю\\%&"), max_size=len(text) - 1))
    assert Spellings({secret: "***"}).replaced(text) == text


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        pytest.param(("abcdefgh", "abcdefghij"), "xabcdefghijx", "x<10>x", id="one begins with another"),
        pytest.param(("abcdefgh", "efghijklm"), "xabcdefghijklmx", "x<9>x", id="one ends as another begins"),
        pytest.param(("abcdefgh",), "abcdefghabcdefgh", "<8><8>", id="side by side"),
        pytest.param(("abcdefgh", "a%62cdefgh"), "a%62cdefgh", "<10>", id="one is a spelling of another"),
        pytest.param(("C:\\news%41",), "C:\\news%41 C:\\\\news%2541", "<10> <10>", id="of marks"),
    ],
)
def test_where_secrets_overlap_nothing_of_them_is_left(
    secrets: tuple[str, ...], text: str, shown: str
) -> None:
    assert Spellings({secret: f"<{len(secret)}>" for secret in secrets}).replaced(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("&ampsk/live&#x2B12", "&amp***&#x2B12", id="after an entity of old"),
        pytest.param("&ltsk/live&l", "&lt***&l", id="before half of one"),
        pytest.param("\\12sk/live\\1", "\\12***\\1", id="between halves of octal bytes"),
        pytest.param("""''sk/live''""", """''***''""", id="between two quotes each"),
        pytest.param("""''sk&#47live'', ''""", """''***'', ''""", id="spelled, between two quotes each"),
    ],
)
def test_what_stands_around_a_secret_is_left_alone(text: str, shown: str) -> None:
    assert Spellings({"sk/live": "***"}).replaced(text) == shown


@pytest.mark.parametrize(
    ("around", "secret"),
    [
        pytest.param("&l{}", "t/12345", id="an entity of old"),
        pytest.param("&#3{}", "8912/345", id="a number"),
        pytest.param("&{}", "#987654/1", id="a whole number"),
        pytest.param("\\1{}", "01/12345", id="an octal byte"),
        pytest.param("\\u{{4{}", "1}/12345", id="braces"),
        pytest.param("\\{}", "x{41}/12345", id="whole braces"),
        pytest.param("{}t", "12345/&l", id="an entity of old, behind"),
        pytest.param("{}1", "12345/\\10", id="an octal byte, behind"),
        pytest.param("{}1}}", "12345/\\u{4", id="braces, behind"),
    ],
)
def test_a_spelling_that_takes_an_end_of_a_secret_in_hides_nothing_of_it(around: str, secret: str) -> None:
    """The rest of the secret is spelled: as it is it stands nowhere."""
    spelled = secret.replace("/", "%2F")
    assert Spellings({secret: "***"}).replaced(around.format(spelled)) == around.format("***")


@pytest.mark.parametrize(
    ("text", "secret", "shown"),
    [
        pytest.param("x=Passw0rd%3B%2541", "Passw0rd;%", "x=***41", id="it begins as no entity ends"),
        pytest.param("1211F2F4%2511", "1211F2F4%1", "***1", id="it begins as a number may end"),
        pytest.param("q%62aa%25b1%2511", "baa%b1%1", "q***1", id="and in part as one"),
        pytest.param("x=%3B%26Horse", "3B&Horse", "x=%***", id="all of it a number and an entity"),
        pytest.param("?x=1&copy%26Horse12", "copy&Horse12", "?x=1&***", id="two entities"),
        pytest.param("&#41%3B%26", "41;&", "&#***", id="the end of one and a mark"),
        pytest.param("x\\ud83d\\udc00secret", "\udc00secret", "x\\ud83d***", id="half a character"),
    ],
)
def test_a_secret_that_spellings_take_in_from_both_sides_is_found(text: str, secret: str, shown: str) -> None:
    assert Spellings({secret: "***"}).replaced(text) == shown


def test_what_ends_as_no_entity_does_is_found_by_more_than_its_last_character() -> None:
    assert [form.core for form in Form.all_of("Kq7" * 10 + ";=", "k")] == ["kq7" * 10 + ";="]
    assert [form.core for form in Form.all_of("epsilon;=", "k")] == ["="]


PIECES = [
    *("\\", "%", "&", "&#", "%41", "\\u", "\\u0041", "&amp;", "%f0%9f", "a", "{}", "{} %25", "{}\\n&amp;"),
    *("&lt", "&a", "'", "''a", '\\"\\"', "\\101", "\\u{{4", "\\u{{41}}"),
]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize(
    "secret", ["A" * 40 + "!", "pA%s&w0rd!", "C:\\%41"], ids=["bare", "marked", "spelling"]
)
def test_a_text_of_ten_times_the_length_takes_ten_times_the_work(piece: str, secret: str) -> None:
    def cost(pieces: int) -> int:
        text = piece.format(quote(secret)) * pieces
        return effort_of(lambda: Spellings({secret: "***"}).replaced(text))

    assert cost(2_000) <= 10 * 1.1 * cost(200)


@pytest.mark.parametrize("piece", PIECES)
def test_no_text_is_read_more_often_for_a_secret_of_many_marks(piece: str) -> None:
    """Each mark of the secret for itself would be as many readings as there are sets of marks."""
    secret = "p\\A%s&w0rd!"
    text = piece.format(secret)
    text *= 100_000 // len(text)
    assert effort_of(lambda: Spellings({secret: "***"}).replaced(text)) < 30 * len(text)


# --- what is sent ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["sk-live-12345678\n", " sk-live-12345678", "\tsk-live-12345678\r\n"])
async def test_a_secret_that_was_stored_with_blanks_is_hidden_as_it_is_sent(stored: str) -> None:
    context = context_in(runtime_of(secrets=InMemorySecretResolver({("acme", "crm"): stored})))
    await context.secret("crm")
    masks = secrets_of(context).masks
    assert masks.text("bad key sk-live-12345678.") == "bad key [secret:crm]."
    assert masks.text(f"it is {stored}.") == f"it is {stored}.".replace(stored.strip(), "[secret:crm]")


def test_a_file_that_is_no_text_is_masked_byte_for_byte() -> None:
    masks = Masks({"s3cret-välue": "ä"})
    data = bytes(range(256))
    assert masks.data(data) == data
    assert masks.data(data + "S3CRET-välue".encode() + data) == data + "[secret:ä]".encode() + data
