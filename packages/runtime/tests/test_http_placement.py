"""Where each argument of an HTTP tool goes, and what is refused before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime.tools.http.placement import MAX_URL, HttpRequest, Places, keeps_place, place
from psych_runtime.tools.http.values import MAX_HEADER
from psych_runtime_core.errors import Violation
from psych_runtime_core.jsonvalue import FrozenDict, freeze
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.templates import url_template

API = "https://api.example:8443"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def tool(url: str = "/a", method: str = "GET", **fields: Any) -> HttpTool:
    said = {"name": "t", "description": "d", "url": f"{API}{url}", "method": method, **fields}
    return HttpTool.model_validate(said)


def placed(made: HttpTool, arguments: Mapping[str, Any]) -> HttpRequest | tuple[Violation, ...]:
    frozen = freeze(arguments, surrogates=True)
    assert isinstance(frozen, FrozenDict)
    return place(Places.of(made), frozen)


def request(made: HttpTool, **arguments: Any) -> HttpRequest:
    found = placed(made, arguments)
    assert isinstance(found, HttpRequest)
    return found


def misfits(made: HttpTool, **arguments: Any) -> dict[str, str]:
    """What was refused, by the name of the argument."""
    found = placed(made, arguments)
    assert not isinstance(found, HttpRequest)
    return {fault.path.removeprefix("/"): fault.message for fault in found}


@pytest.mark.parametrize(
    ("url", "arguments", "target"),
    [
        pytest.param("", {}, "", id="no path at all"),
        pytest.param("/", {}, "/", id="the root"),
        pytest.param("/a//b/", {}, "/a//b/", id="empty segments"),
        pytest.param("/a/{x}", {"x": "b"}, "/a/b", id="a segment"),
        pytest.param("/{x}/{x}.{y}", {"x": 1, "y": True}, "/1/1.true", id="parts of segments, twice"),
        pytest.param("/{x}", {"x": 1.5}, "/1.5", id="a number as JSON writes it"),
        pytest.param("/{x}", {"x": 1e3}, "/1000", id="an integral one"),
        pytest.param("/{x}", {"x": "é ?#&=%2F+"}, "/%C3%A9%20%3F%23%26%3D%252F%2B", id="nothing is safe"),
        pytest.param("/{x}", {"x": "..."}, "/...", id="three dots are a name"),
        pytest.param("/{x-y}", {"x-y": "a"}, "/a", id="a name of any kind"),
        pytest.param("/a?k={x}", {"x": "b c&d"}, "/a?k=b%20c%26d", id="a value of the query"),
        pytest.param("/a?k={x}", {"x": [1, None, "b"]}, "/a?k=1&k=b", id="a list repeats its key"),
        pytest.param("/a?k={x}", {"x": []}, "/a", id="an empty list"),
        pytest.param("/a?k={x}&l=m", {"x": None}, "/a?l=m", id="null drops its key"),
        pytest.param("/a?k={x}&l", {}, "/a?l", id="an argument that is absent too"),
        pytest.param("/a?k=b-{x}-{y}", {"x": 1, "y": False}, "/a?k=b-1-false", id="parts of a value"),
        pytest.param("/a?k=b-{x}-{y}", {"x": 1, "y": None}, "/a", id="parts, and one of them null"),
        pytest.param("/a?k=%20{x}&&m=n%26", {"x": 1}, "/a?k=%201&m=n%26", id="literals stay as they are"),
        pytest.param("/a?k={x}", {"x": "", "y": "b"}, "/a?k=&y=b", id="what is left goes behind"),
        pytest.param("/a/{x}", {"x": 1, "é&": "b"}, "/a/1?%C3%A9%26=b", id="under its name, encoded"),
    ],
)
def test_arguments_of_a_get_make_its_url(url: str, arguments: dict[str, Any], target: str) -> None:
    assert request(tool(url), **arguments) == HttpRequest("GET", API + target, {})
    assert request(tool(url, "DELETE"), **arguments) == HttpRequest("DELETE", API + target, {})


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_what_is_left_is_the_body_of_a_method_that_has_one(method: str) -> None:
    made = tool("/a/{x}?k={y}", method, query=["z", "v"], headers={"X-W": "{w}"})
    found = request(made, x=1, y=2, z=[3, 4], w=5, b={"c": [None, 1.0]}, a=None)
    assert found.url == f"{API}/a/1?k=2&z=3&z=4"
    assert found.headers == {"X-W": "5", "Content-Type": "application/json"}
    assert found.body == b'{"a":null,"b":{"c":[null,1]}}'


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_what_the_url_has_a_place_for_is_not_in_the_query_once_more(method: str) -> None:
    found = request(tool("/a/{x}?k={y}", method, query=["x", "y", "z"]), x=1, y=2, z=3)
    assert (found.url, found.body) == (f"{API}/a/1?k=2&z=3", None)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_with_nothing_left_there_is_no_body(method: str) -> None:
    found = request(tool("/a", method, query=["x"]), x=1)
    assert (found.url, found.headers, found.body) == (f"{API}/a?x=1", {}, None)


@pytest.mark.parametrize(
    ("headers", "arguments", "body"),
    [
        pytest.param(FORM, {"a": "b c&é", "n": 1.5}, b"a=b+c%26%C3%A9&n=1.5", id="encoded as forms are"),
        pytest.param(FORM, {"a": [1, None, True], "b": None}, b"a=1&a=true", id="lists repeat, null drops"),
        pytest.param(
            {"content-TYPE": FORM["Content-Type"] + ";charset=utf-8"}, {"a b": ""}, b"a+b=", id="case"
        ),
        pytest.param(
            {"Content-Type": "application/vnd.api+json"}, {"a": 1}, b'{"a":1}', id="any other is JSON"
        ),
    ],
)
def test_the_stated_type_decides_the_form_of_a_body(
    headers: dict[str, str], arguments: dict[str, Any], body: bytes
) -> None:
    found = request(tool(method="POST", headers=headers), **arguments)
    assert (found.body, found.headers) == (body, headers)


@pytest.mark.parametrize(
    ("value", "arguments", "headers"),
    [
        pytest.param("{x}", {"x": "a b"}, {"X-A": "a b"}, id="text"),
        pytest.param("v{x}; q={y}", {"x": 1, "y": 0.5}, {"X-A": "v1; q=0.5"}, id="parts"),
        pytest.param("v{x}", {"x": None}, {}, id="null drops it"),
        pytest.param("{x}-{y}", {"x": 1}, {}, id="so does an argument that is absent"),
        pytest.param("{x}", {"x": "a" * MAX_HEADER}, {"X-A": "a" * MAX_HEADER}, id="as long as it may be"),
        pytest.param("{x}", {"x": ""}, {"X-A": ""}, id="nothing"),
    ],
)
def test_an_argument_that_a_header_names_goes_there_alone(
    value: str, arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    assert request(tool(headers={"X-A": value}), **arguments) == HttpRequest("GET", f"{API}/a", headers)


NO_SCALARS: list[Any] = [[], [1], {"a": 1}]
NO_LISTS: list[Any] = [{"a": 1}, [[1]], [{}]]
PATH, QUERY, PART, HEADER = "/{x}", "/a?k={x}", "/a?k=b{x}", {"X-A": "{x}"}


@pytest.mark.parametrize(
    ("made", "value", "told"),
    [
        *[
            pytest.param(tool(PATH), bad, "in the path", id=f"path {bad!r}")
            for bad in (None, "", ".", "..", "/", "a/b", "\\", "\r", "\x00", "\x85")
        ],
        pytest.param(tool("/a{x}b"), "..", "in the path", id="a part of a segment too"),
        *[
            pytest.param(made, bad, "must be text, a number", id=f"{place} {bad!r}")
            for place, made in {"path": tool(PATH), "header": tool(headers=HEADER)}.items()
            for bad in NO_SCALARS
        ],
        *[
            pytest.param(made, bad, "must be text, a number", id=f"{place} {bad!r}")
            for place, made in {
                "query": tool(QUERY),
                "listed": tool(method="POST", query=["x"]),
                "left": tool(),
                "form": tool(method="POST", headers=FORM),
            }.items()
            for bad in NO_LISTS
        ],
        pytest.param(tool(PART), [1], "no list fits", id="a list amid a value"),
        *[
            pytest.param(tool(headers=HEADER), bad, "in a header", id=f"header {bad!r}")
            for bad in ("a\nb", "a\rb", "\x00", "\t", "é", "\ud800", "a" * (MAX_HEADER + 1))
        ],
        *[
            pytest.param(made, "\ud800", "half of a surrogate pair", id=f"half a pair in {place}")
            for place, made in {
                "path": tool(PATH),
                "query": tool(QUERY),
                "form": tool(method="POST", headers=FORM),
            }.items()
        ],
    ],
)
def test_a_value_that_does_not_fit_its_place_is_refused(made: HttpTool, value: Any, told: str) -> None:
    found = misfits(made, x=value)
    assert list(found) == ["x"]
    assert told in found["x"]


def test_every_misfit_is_told_once() -> None:
    made = tool("/{x}/{x}?k={y}", headers={"X-A": "{z}"})
    assert set(misfits(made, x="..", y={}, z="\n", left={})) == {"x", "y", "z", "left"}


def test_a_missing_segment_is_asked_for() -> None:
    assert misfits(tool("/a/{x}")) == {"x": "must be given: it stands in the path of the URL"}


def test_a_name_that_no_url_carries_is_refused() -> None:
    assert list(misfits(tool(), **{"\ud800": 1})) == ["\ud800"]


def test_json_carries_half_of_a_surrogate_pair() -> None:
    assert request(tool(method="POST"), x="\ud800").body == b'{"x":"\\ud800"}'


@pytest.mark.parametrize(("over", "fits"), [(0, True), (1, False)])
def test_a_url_that_nobody_reads_is_refused(over: int, fits: bool) -> None:
    length = MAX_URL - len(f"{API}/a?k=") + over
    found = placed(tool(QUERY), {"x": "a" * length})
    if fits:
        assert isinstance(found, HttpRequest)
        assert len(httpx2.URL(found.url).raw_path) == MAX_URL - len(API)
    else:
        assert found == (Violation("", "together they make a URL that leads elsewhere, or is too long"),)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://api.example:8443/a/b", True),
        ("https://api.example:8443/a/b?c#d", True),
        ("http://api.example:8443/a/b", False),
        ("https://api.example/a/b", False),
        ("https://api.example:8443@evil.example/a/b", False),
        ("https://api.example:8443.evil.example/a/b", False),
        ("https://API.example:8443/a/b", False),
        ("https://api.example:8443/a", False),
        ("https://api.example:8443/a/b/c", False),
        ("https://api.example:8443/a/..", False),
        ("https://api.example:8443/a/.", False),
        ("https://api.example:8443/%2e%2E/b", False),
        ("https://api.example:8443/a/.%2e", False),
    ],
)
def test_a_url_keeps_its_place(url: str, kept: bool) -> None:
    assert keeps_place(url_template(f"{API}/a/{{x}}"), url) is kept


def test_a_template_may_write_its_scheme_in_capitals() -> None:
    made = HttpTool(name="t", description="d", url="HTTPS://Api.Example/{x}", method="GET")
    assert request(made, x=1).url == "HTTPS://Api.Example/1"


SCALARS = st.text() | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)


@given(SCALARS, SCALARS, st.lists(SCALARS), SCALARS)
def test_no_value_leads_to_another_place(x: Any, y: Any, z: Any, left: Any) -> None:
    found = placed(tool("/v1/{x}/pre-{y}/end?k={z}"), {"x": x, "y": y, "z": z, "left": left})
    if not isinstance(found, HttpRequest):
        return
    sent = httpx2.URL(found.url)
    assert (sent.scheme, sent.host, sent.port, sent.userinfo) == ("https", "api.example", 8443, b"")
    first, *rest = sent.raw_path.partition(b"?")[0].split(b"/")[1:]
    assert (first, rest[2:], len(rest)) == (b"v1", [b"end"], 3)
    assert rest[1].startswith(b"pre-")
    assert sent.fragment == ""
    assert {key for key, _ in sent.params.multi_items()} <= {"k", "left"}
