"""No text of an HTTP tool shows the credential that it sent, however the server spells it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from packages.runtime.tests.http_scenes import Calls, context_in, http_tool, runtime_of
from psych_runtime.secrets.in_memory import InMemorySecretResolver
from psych_runtime.testing.http_stub import HttpStub, Reply
from psych_runtime.tools.context import secrets_of
from psych_runtime.tools.convert import Converted, convert
from psych_runtime.tools.ending import Returned
from psych_runtime.tools.failures import told_failure_of
from psych_runtime_core.jsonvalue import Json

KEY = "sk/live+1234&5678=="
# Without anything that a header or a host would not hold.
PLAIN = "sk-live-12345678"
MASK = "[secret:k]"

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in capitals": str.upper,
    "escaped for JSON": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "every character escaped": lambda key: "".join(f"\\u{ord(each):04x}" for each in key),
    "percent-encoded": lambda key: quote(key, safe=""),
    "twice percent-encoded": lambda key: quote(quote(key, safe=""), safe=""),
    "as HTML": html.escape,
    "as numbers of HTML": lambda key: "".join(f"&#x{ord(each):x};" for each in key),
}
EACH_SPELLING = pytest.mark.parametrize("spelling", SPELLINGS)


async def shown(stub: HttpStub, reply: Reply, key: str = KEY) -> str:
    """All that is stored of a call whose server answers with `reply`."""
    stub.on("GET", "/a", reply)
    context = context_in(runtime_of(secrets=InMemorySecretResolver({("acme", "k"): key})))
    ending = await Calls(http_tool(stub, credential="k"), context).ending()
    assert key in stub.requests[0].headers["authorization"]
    masks = secrets_of(context).masks
    if not isinstance(ending, Returned):
        return str(told_failure_of(ending.error, masks).model_dump(mode="json"))
    converted = convert(ending.value, masks)
    assert isinstance(converted, Converted)
    return converted.encoded.decode() + "".join(
        f"{file.name} {file.media_type} {file.data!r}" for file in converted.files
    )


@EACH_SPELLING
@pytest.mark.parametrize("status", [200, 401, 503], ids=str)
@pytest.mark.parametrize("content_type", ["text/plain", "text/html", "application/xml", "image/png"])
async def test_a_body_shows_no_credential(
    content_type: str, status: int, spelling: str, stub: HttpStub
) -> None:
    spelled = SPELLINGS[spelling](KEY)
    told = f"the key '{spelled}' is odd"
    text = await shown(stub, Reply(status=status, headers={"content-type": content_type}, body=told.encode()))
    assert spelled not in text
    assert MASK in text or (content_type == "image/png" and status != 200)


@EACH_SPELLING
@pytest.mark.parametrize("status", [200, 400], ids=str)
@pytest.mark.parametrize("where", ["a value", "a name", "JSON in JSON"])
async def test_json_shows_no_credential(where: str, status: int, spelling: str, stub: HttpStub) -> None:
    spelled = SPELLINGS[spelling](KEY)
    bodies: dict[str, Json] = {
        "a value": [spelled],
        "a name": {spelled: 1},
        "JSON in JSON": [json.dumps([spelled])],
    }
    text = await shown(stub, Reply(status=status, json=bodies[where]))
    assert spelled not in text
    assert json.dumps(spelled)[1:-1] not in text
    assert MASK in text


@EACH_SPELLING
@pytest.mark.parametrize("status", [200, 400], ids=str)
async def test_json_that_is_broken_shows_no_credential(status: int, spelling: str, stub: HttpStub) -> None:
    spelled = SPELLINGS[spelling](KEY)
    told = Reply(status=status, headers={"content-type": "application/json"}, body=f'{{"{spelled}'.encode())
    text = await shown(stub, told)
    assert spelled not in text
    assert MASK in text


@pytest.mark.parametrize("at", [1_970, 1_985, 1_999, 2_000])
@EACH_SPELLING
async def test_where_an_error_is_cut_no_part_of_it_is_left(spelling: str, at: int, stub: HttpStub) -> None:
    spelled = SPELLINGS[spelling](KEY)
    told = Reply(status=400, headers={"content-type": "text/plain"}, body=b"w" * at + spelled.encode())
    text = await shown(stub, told)
    assert "w" * at in text
    assert f"w{spelled[:6]}" not in text


@pytest.mark.parametrize("key", [PLAIN, "1234567812345678"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"content-type": "image/{}"}, 200, id="the type of a file"),
        pytest.param({"content-type": "image/{}"}, 400, id="the type of an error"),
        pytest.param({"content-type": "text/plain; charset={}"}, 200, id="a charset"),
        pytest.param({"content-type": "text/plain; charset={}"}, 400, id="the charset of an error"),
        pytest.param({"location": "https://{}.example/a"}, 302, id="where a redirect leads"),
        pytest.param({"location": "https://{}/a"}, 307, id="a host that a redirect leads to"),
        pytest.param({"location": "https://a.example/{}?{}"}, 302, id="a path that a redirect leads to"),
        pytest.param({"location": "https://a.example:{}/"}, 302, id="a port that is none"),
        pytest.param({"retry-after": "{}"}, 503, id="a time to wait"),
        pytest.param({"www-authenticate": 'Bearer realm="{}"'}, 401, id="a challenge"),
    ],
)
async def test_no_header_of_the_reply_tells_it(
    headers: dict[str, str], status: int, key: str, stub: HttpStub
) -> None:
    told = {name: value.format(key, key) for name, value in headers.items()}
    text = await shown(stub, Reply(status=status, headers=told, body=b"\xff"), key)
    assert key not in text
