"""What an HTTP tool takes and refuses, where it is built and where it is published."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from packages.core.tests.specs import SMALL, small
from psych_runtime_core.errors import SpecValidationError
from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.spec.document import read_spec
from psych_runtime_core.spec.headers import MAX_HEADER_VALUE, MAX_HEADERS
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.issues import issues_from
from psych_runtime_core.spec.tools import CodeTool
from psych_runtime_core.spec.urls import MAX_URL, Url
from psych_runtime_core.spec.validate.context import ValidationContext
from psych_runtime_core.spec.validate.run import collect_issues

TOOL: dict[str, Any] = {"kind": "http", "name": "t", "description": "d", "url": "https://a.example/b"}


def tool(**fields: Any) -> HttpTool:
    (made,) = small(tools=[{**TOOL, **fields}]).tools
    assert isinstance(made, HttpTool)
    return made


def refused(**fields: Any) -> list[tuple[str, str]]:
    """The codes and places, below the tool."""
    with pytest.raises(SpecValidationError) as error:
        read_spec({**SMALL, "tools": [{**TOOL, **fields}]})
    return [(issue.code, issue.path.removeprefix("/tools/0/")) for issue in error.value.issues]


# --- the two kinds of tool -------------------------------------------------------------------------------


def test_a_tool_is_of_the_kind_that_it_states_and_a_function_unless_it_does() -> None:
    code, http = small(tools=[{"name": "c"}, {**TOOL, "name": "h"}]).tools
    assert (type(code), type(http)) == (CodeTool, HttpTool)


@pytest.mark.parametrize(
    ("given", "code", "path"),
    [
        pytest.param({**TOOL, "kind": "ftp"}, "out_of_bounds", "/tools/0/kind", id="an unknown kind"),
        pytest.param({**TOOL, "kind": 1}, "wrong_type", "/tools/0/kind", id="a kind that is no text"),
        pytest.param({**TOOL, "kind": ["http"]}, "wrong_type", "/tools/0/kind", id="nor a word"),
        pytest.param("t", "wrong_type", "/tools/0", id="no object"),
        pytest.param(
            {"name": "t", "url": "x"}, "unknown_field", "/tools/0/url", id="a field of the other kind"
        ),
        pytest.param({"kind": "http"}, "missing", "/tools/0/name", id="an endpoint of nothing"),
    ],
)
def test_what_is_wrong_with_a_tool_is_told_at_its_own_place(given: object, code: str, path: str) -> None:
    with pytest.raises(SpecValidationError) as error:
        read_spec({**SMALL, "tools": [given]})
    first = error.value.issues[0]
    assert (first.code, first.path) == (code, path)


def test_names_are_unique_over_both_kinds() -> None:
    with pytest.raises(SpecValidationError) as error:
        small(tools=[{"name": "T"}, TOOL])
    assert [(issue.code, issue.path) for issue in error.value.issues] == [("duplicate_name", "/tools/1/name")]


# --- fields ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example",
        "HTTP://A.example:8080/",
        "https://[2001:db8::1]:443/x",
        "https://bücher.example/ü?ä=ö",
        "https://a.example/{a}/x-{b}.{c}?d={e}&f=g{h}&i&j=",
        "https://a.example/{a$b.c-d}/{größe}",
        "https://a.example/...//b",
        "https://a.example/" + "x" * (MAX_URL - len("https://a.example/")),
    ],
)
def test_a_url_may_be_this(url: str) -> None:
    assert tool(url=url).url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.example/b",
        "//a.example/b",
        "ftp://a.example/b",
        "https:/a.example",
        "https://",
        "https:///b",
        "https://:80/b",
        "https://a.example:0/",
        "https://a.example:65536/",
        "https://a.example:b/",
        "https://[::1/",
        "https://ann@a.example/",
        "https://ann:pw@a.example/",
        "https://a.example\\@evil.example/",
        "https://a.example/b#c",
        "https://a.example/#",
        "https://a.example/a b",
        "https://a.example/\t",
        "https://a.example/\x00",
        "https://a.example/\u00a0",
        "{s}://a.example/",
        "https://{h}/b",
        "https://a.{h}/b",
        "https://a.example:{p}/b",
        "https://{u}@a.example/",
        "https://a.example/../b",
        "https://a.example/b/.",
        "https://a.example/%2e%2E/b",
        "https://a.example/b?{k}=1",
        "https://a.example/{",
        "https://a.example/}",
        "https://a.example/{}",
        "https://a.example/{a b}",
        "https://a.example/{a/b}",
        "https://a.example/b?c={d",
        "https://a.example/{{a}}",
        "https://a.example/{" + "a" * 129 + "}",
    ],
)
def test_a_url_may_not_be_this(url: str) -> None:
    assert refused(url=url) == [("bad_url", "url")]


def test_a_url_has_at_most_2048_characters() -> None:
    assert refused(url="https://a.example/" + "x" * MAX_URL) == [("out_of_bounds", "url")]


def test_a_plain_url_has_no_placeholders_to_be_read() -> None:
    urls: TypeAdapter[str] = TypeAdapter(Url)
    assert urls.validate_python("https://a.example/b?c=d") == "https://a.example/b?c=d"
    for bad in ("https://a.example/#b", "https://ann@a.example", "mailto:a@b"):
        with pytest.raises(ValidationError) as error:
            urls.validate_python(bad)
        assert [issue.code for issue in issues_from(error.value)] == ["bad_url"]


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "proxy-AUTHORIZATION",
        "Cookie",
        "Set-Cookie",
        "X-Auth-Token",
        "x-token",
        "My-Secret",
        "X-Password",
        "X-Api-Key",
        "API-KEY",
        "xapikeyx",
    ],
)
def test_a_header_that_looks_like_a_secret_is_refused_and_the_field_for_it_is_told(name: str) -> None:
    with pytest.raises(SpecValidationError) as error:
        read_spec({**SMALL, "tools": [{**TOOL, "headers": {name: "v"}}]})
    (issue,) = error.value.issues
    assert (issue.code, issue.path) == ("literal_secret", f"/tools/0/headers/{name}")
    assert "`credential`" in issue.message


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        ({"name": "a b"}, "bad_name", "name"),
        ({"name": "final_answer"}, "reserved_name", "name"),
        ({"description": ""}, "out_of_bounds", "description"),
        ({"description": "d" * 4_097}, "out_of_bounds", "description"),
        ({"method": "HEAD"}, "out_of_bounds", "method"),
        ({"method": "get"}, "out_of_bounds", "method"),
        ({"input_schema": {"type": "array"}}, "bad_schema", "input_schema"),
        ({"input_schema": {"properties": {}}}, "bad_schema", "input_schema"),
        ({"query": "a"}, "wrong_type", "query"),
        ({"query": [""]}, "out_of_bounds", "query/0"),
        ({"query": ["a", "b", "a"]}, "duplicate_name", "query/2"),
        ({"headers": [["a", "b"]]}, "wrong_type", "headers"),
        ({"headers": {"a": 1}}, "wrong_type", "headers/a"),
        ({"headers": {"a b": "c"}}, "bad_name", "headers/a b"),
        ({"headers": {"": "c"}}, "bad_name", "headers/"),
        ({"headers": {"a:": "c"}}, "bad_name", "headers/a:"),
        ({"headers": {"ä": "c"}}, "bad_name", "headers/ä"),
        ({"headers": {"a": ""}}, "out_of_bounds", "headers/a"),
        ({"headers": {"a": "b\r\nc: d"}}, "bad_text", "headers/a"),
        ({"headers": {"a": "é"}}, "bad_text", "headers/a"),
        ({"headers": {"a": "{"}}, "bad_text", "headers/a"),
        ({"headers": {"a": "b" * (MAX_HEADER_VALUE + 1)}}, "out_of_bounds", "headers/a"),
        ({"headers": {f"a{n}": "b" for n in range(MAX_HEADERS + 1)}}, "out_of_bounds", "headers"),
        ({"headers": {"a-b": "c", "A-B": "c"}}, "duplicate_name", "headers/A-B"),
        ({"headers": {"Host": "evil.example"}}, "conflict", "headers/Host"),
        ({"headers": {"content-length": "0"}}, "conflict", "headers/content-length"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "conflict", "headers/Transfer-Encoding"),
        ({"credential": ""}, "out_of_bounds", "credential"),
        ({"credential": "a\nb"}, "bad_text", "credential"),
        ({"credential": "c" * 257}, "out_of_bounds", "credential"),
        ({"credential_header": "a b"}, "bad_name", "credential_header"),
        ({"credential_header": "Host"}, "conflict", "credential_header"),
        ({"credential_scheme": "s" * 65}, "out_of_bounds", "credential_scheme"),
        ({"credential_scheme": "é"}, "bad_text", "credential_scheme"),
        ({"idempotency_header": ""}, "bad_name", "idempotency_header"),
        ({"headers": {"Key": "a"}, "idempotency_header": "key"}, "conflict", "idempotency_header"),
        ({"credential": "c", "idempotency_header": "authorization"}, "conflict", "credential_header"),
        (
            {"credential": "c", "credential_header": "X", "headers": {"x": "a"}},
            "conflict",
            "credential_header",
        ),
        ({"annotations": ["safe"]}, "out_of_bounds", "annotations/0"),
        ({"annotations": ["read-only", "write"]}, "conflict", "annotations"),
        ({"safe_to_retry": 1}, "wrong_type", "safe_to_retry"),
        ({"timeout_seconds": 0}, "out_of_bounds", "timeout_seconds"),
        ({"timeout_seconds": 600.1}, "out_of_bounds", "timeout_seconds"),
        ({"timeout_seconds": None}, "wrong_type", "timeout_seconds"),
        ({"interruptible": "no"}, "wrong_type", "interruptible"),
        ({"body": {}}, "unknown_field", "body"),
    ],
)
def test_a_field_that_is_wrong_is_refused(fields: dict[str, Any], code: str, path: str) -> None:
    assert refused(**fields) == [(code, path)]


def test_every_header_that_is_wrong_is_told() -> None:
    assert refused(headers={"Cookie": "a", "Host": "b", "x y": "c", "Fine": "d"}) == [
        ("literal_secret", "headers/Cookie"),
        ("conflict", "headers/Host"),
        ("bad_name", "headers/x y"),
    ]


def test_a_header_of_the_credential_is_free_without_one() -> None:
    assert tool(headers={"X": "a"}, credential_header="x").credential_header == "x"


def test_the_order_of_annotations_says_nothing_and_headers_cannot_change() -> None:
    made = tool(annotations=["write", "destructive", "write"], headers={"A": "{b}"})
    assert made.annotations == ("destructive", "write")
    assert isinstance(made.headers, FrozenDict)
    assert hash(made) == hash(tool(annotations=["destructive", "write"], headers={"A": "{b}"}))
    assert isinstance(tool().headers, FrozenDict)


# --- where it is published -------------------------------------------------------------------------------


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["id"],
}


@pytest.mark.parametrize(
    ("fields", "issues"),
    [
        pytest.param({"url": "https://a.example/{id}?n={note}"}, [], id="all of them are properties"),
        pytest.param({"url": "https://a.example/{x}", "input_schema": {}}, [], id="{} takes any"),
        pytest.param(
            {"url": "https://a.example/{idd}?n={noted}"},
            [
                ("/tools/0/url", "there is no argument 'idd'; did you mean 'id'?"),
                ("/tools/0/url", "there is no argument 'noted'; did you mean 'note'?"),
            ],
            id="the URL",
        ),
        pytest.param(
            {"url": "https://a.example/{note}/{note}?n={note}"},
            [("/tools/0/url", "'note' stands in the path, so input_schema must list it in required")],
            id="an optional one in the path, told once",
        ),
        pytest.param(
            {"query": ["note", "n"]}, [("/tools/0/query/1", "there is no argument 'n'")], id="query"
        ),
        pytest.param(
            {"headers": {"A": "{id} {zz} {zz}", "B": "c"}},
            [("/tools/0/headers/A", "there is no argument 'zz'")],
            id="headers",
        ),
        pytest.param(
            {"url": "https://a.example/{x}", "input_schema": {"type": "object"}},
            [("/tools/0/url", "there is no argument 'x'; there are none")],
            id="a schema without properties",
        ),
    ],
)
def test_a_placeholder_is_an_argument(fields: dict[str, Any], issues: list[tuple[str, str]]) -> None:
    spec = small(tools=[{**TOOL, "input_schema": SCHEMA, **fields}])
    found = collect_issues(spec)
    assert [(issue.path, issue.message) for issue in found] == issues
    assert {issue.code for issue in found} <= {"unknown_placeholder"}


@pytest.mark.parametrize(
    ("known", "issues"),
    [
        (None, []),
        (["crm"], []),
        (["cmr"], [("unknown_credential", "/tools/0/credential", "'cmr'")]),
        ([], [("unknown_credential", "/tools/0/credential", "there are none")]),
    ],
)
def test_a_credential_is_one_that_the_publisher_knows(
    known: list[str] | None, issues: list[tuple[str, str, str]]
) -> None:
    found = collect_issues(small(tools=[{**TOOL, "credential": "crm"}]), ValidationContext(credentials=known))
    assert [(issue.code, issue.path) for issue in found] == [issue[:2] for issue in issues]
    for issue, (_, _, told) in zip(found, issues, strict=True):
        assert told in issue.message


def test_an_endpoint_needs_no_registered_function() -> None:
    assert collect_issues(small(tools=[TOOL]), ValidationContext(registered_tools=())) == ()
