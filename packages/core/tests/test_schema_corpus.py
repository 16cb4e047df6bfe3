"""Ordinary schemas and values are judged, whatever guards against others: as the bare judge judges them."""

from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from packages.core.tests.json_schemas import Schema
from psych_runtime_core.schema import check_schema, violations


def text(pattern: str, **more: Any) -> Schema:
    return {"type": "string", "pattern": pattern, **more}


def record(*required: str, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def rows(item: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": item, **more}


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
NAME = r"^\p{L}[\p{L} .'-]*$"
TITLE = r"^\S(.{0,253}\S)?$"
MAIL = r"^[\w.%+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,8}$"
UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
STAMP = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$"
BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
CODES: Schema = {"enum": list(range(400, 460))}
IDS: Schema = {"type": "array", "items": INTEGER, "uniqueItems": True}
FRACTIONS = [index / 7 for index in range(11_200)]
POINT = rows(NUMBER, minItems=2, maxItems=3)
GEO: Schema = {
    "oneOf": [
        record("type", "coordinates", type={"const": "Point"}, coordinates=POINT),
        record("type", "coordinates", type={"const": "LineString"}, coordinates=rows(POINT)),
        record("type", "coordinates", type={"const": "Polygon"}, coordinates=rows(rows(POINT))),
    ]
}
ORDER = record(
    "id", "lines",
    id=text(UUID),
    customer=record("name", name=text(NAME), mail=text(MAIL)),
    lines=rows(record("sku", "price", sku=text("^[A-Z]{2}-[0-9]{4}$"),
                      price={"type": "number", "minimum": 0, "multipleOf": 0.01})),
)  # fmt: skip
AN_ORDER = {
    "id": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "customer": {"name": "Anne-Marie O'Neil", "mail": "anne@mail.example.org"},
    "lines": [{"sku": "AB-1234", "price": 9.25}] * 20,
}
TREE: Schema = {
    **ref("node"),
    "$defs": {"node": record("name", name=text(TITLE), children=rows(ref("node")))},
}
TOOL = record(
    "action",
    action={"anyOf": [
        record("kind", "query", kind={"const": "search"}, query=text(r"^\S.{0,500}$")),
        record("kind", "id", kind={"const": "fetch"}, id={"anyOf": [text(UUID), INTEGER]}),
        record("kind", "to", kind={"const": "send"}, to=rows(text(MAIL), uniqueItems=True)),
    ]},
    limit={"type": ["integer", "null"], "minimum": 1, "maximum": 100},
)  # fmt: skip
NULLABLE = {f"c{index}": {"enum": [*(f"value-{each}" for each in range(50)), None]} for index in range(10)}
PROFILE = record(**{f"n{index}": text(NAME) for index in range(20)})

FITTING = [
    pytest.param(text(MAIL), "alice.smith@mail.example.com", id="an address"),
    pytest.param(rows(record(mail=text(MAIL))), [{"mail": "alice@mail.example.com"}] * 4_000, id="addresses"),
    pytest.param(rows(record(title=text(TITLE))), [{"title": "a title of some words"}] * 4_000, id="titles"),
    pytest.param(rows(record(name=text(NAME))), [{"name": "Zoë Müller-Ångström"}] * 4_000, id="names"),
    pytest.param(PROFILE, {f"n{index}": "Ann" for index in range(20)}, id="fields of one pattern"),
    pytest.param(record(**{f"t{index}": text(TITLE) for index in range(20)}), {"t7": "x"}, id="of titles"),
    pytest.param(text(r"^\S.{0,500}$"), "word " * 90, id="a long title"),
    pytest.param(text(r"^(.|\n){1,2000}$"), "word\n" * 390, id="lines"),
    pytest.param(text(r"^[^\s].{0,2000}[^\s]$"), "x" * 1_900, id="a paragraph"),
    pytest.param(text(r"^[\s\S]{1,5000}$"), "word\n" * 900, id="a page"),
    pytest.param(text(r"^\S.{0,4000}$"), "word " * 700, id="a page in a line"),
    pytest.param(text(r"^[^<>]{1,2000}$"), "word " * 390, id="no markup"),
    pytest.param(rows(text(UUID)), [AN_ORDER["id"]] * 4_000, id="identifiers"),
    pytest.param(rows(text(STAMP)), ["2024-02-29T12:30:00.125Z"] * 6_000, id="times"),
    pytest.param(text(BASE64), "QUJD" * 50_000, id="bytes in text"),
    pytest.param(text(r"^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,10}$"), "www.example.org", id="a host"),
    pytest.param(rows(text("^https?://[^ ]+$")), ["https://example.org/a/b?c=d"] * 5_000, id="links"),
    pytest.param(text(r"^\+?[0-9 ()-]{5,20}$"), "+49 (30) 123-456", id="a telephone"),
    pytest.param(text(r"(?i)^(urgent|normal|low)$"), "Urgent", id="any case"),
    pytest.param(record(status=CODES, points=rows(NUMBER)), {"status": 404, "points": FRACTIONS},
                 id="a code beside a series"),
    pytest.param(record(t={"enum": [index / 100 for index in range(131)]}, emb=rows(NUMBER)),
                 {"t": 0.5, "emb": FRACTIONS[:1_536]}, id="a setting beside an embedding"),
    pytest.param(record(http={"enum": list(range(400, 418))}, series=rows(rows(NUMBER))),
                 {"http": 404, "series": [FRACTIONS[:1_120]] * 10}, id="a code beside a table"),
    pytest.param(rows(NUMBER, minItems=1_536, maxItems=1_536), FRACTIONS[:1_536], id="an embedding"),
    pytest.param(rows({"type": "number", "minimum": 0.0, "maximum": 2_000.5}), FRACTIONS, id="in bounds"),
    pytest.param(rows(record(status=CODES, ms=NUMBER)), [{"status": 404, "ms": 1.5}] * 4_000, id="requests"),
    pytest.param(IDS, [1_700_000_000_000_000_000 + index for index in range(5_000)],
                 id="nanoseconds"),
    pytest.param(IDS, [1_100_000_000_000_000_000 - index for index in range(5_000)],
                 id="snowflakes"),
    pytest.param(rows(record(tags=rows(INTEGER, uniqueItems=True)), uniqueItems=True),
                 [{"tags": [1_100_000_000_000_000_000 + index]} for index in range(950)], id="sets in a set"),
    pytest.param(rows({"type": "string"}, uniqueItems=True), [f"id-{index}" for index in range(10_000)],
                 id="distinct words"),
    pytest.param(rows(record(**NULLABLE)), [dict.fromkeys(NULLABLE, "value-7")] * 1_000, id="nullable"),
    pytest.param(ORDER, AN_ORDER, id="an order"),
    pytest.param(rows(ORDER), [AN_ORDER] * 200, id="orders"),
    pytest.param(GEO, {"type": "Polygon", "coordinates": [[[13.4, 52.5]] * 5_000]}, id="a shape"),
    pytest.param(record(features=rows(GEO)), {"features": [{"type": "Point", "coordinates": [1.5, 2]}] * 999},
                 id="points"),
    pytest.param(TREE, {"name": "a", "children": [{"name": "b", "children": [{"name": "c d"}] * 30}] * 50},
                 id="a tree"),
    pytest.param(TOOL, {"action": {"kind": "search", "query": "what is it"}, "limit": 3}, id="a search"),
    pytest.param(TOOL, {"action": {"kind": "fetch", "id": 7}, "limit": None}, id="a fetch"),
    pytest.param(TOOL, {"action": {"kind": "send", "to": ["a@b.c", "d@e.f"]}}, id="a message"),
    pytest.param({"type": "object", "patternProperties": {r"^x-[\w-]{1,60}$": {"type": "string"}},
                  "additionalProperties": NUMBER},
                 {"n": 1.5, **{f"x-{index}": "v" for index in range(2_000)}}, id="extensions"),
    pytest.param({"type": "object", "propertyNames": text("^[a-z_][a-z0-9_]{0,62}$")},
                 {f"column_{index}": index for index in range(5_000)}, id="columns"),
    pytest.param({"allOf": [record("a", a=text(TITLE)), record(b=CODES)], "unevaluatedProperties": False},
                 {"a": "x", "b": 401}, id="parts, and nothing else"),
    pytest.param(rows(record(price={"type": "number", "multipleOf": 0.01})), [{"price": 9.25}] * 5_000,
                 id="prices"),
    pytest.param(record(body={"type": "string"}, mail=text(MAIL)), {"body": "x" * 200_000, "mail": "a@b.c"},
                 id="a text beside an address"),
]  # fmt: skip
NOT_FITTING = [
    pytest.param(rows(record(mail=text(MAIL))), [{"mail": "ann@mail.example.com"}] * 3_000 + [{"mail": 1}],
                 id="an address"),
    pytest.param(PROFILE, {"n3": 5}, id="a name"),
    pytest.param(text(TITLE), " x", id="a title"),
    pytest.param(record(status=CODES, points=rows(NUMBER)), {"status": 200, "points": FRACTIONS},
                 id="a code"),
    pytest.param(IDS, [1_700_000_000_000_000_000] * 2, id="a time twice"),
    pytest.param(GEO, {"type": "Polygon", "coordinates": [1]}, id="a shape"),
    pytest.param(TOOL, {"action": {"kind": "fetch"}}, id="a fetch"),
    pytest.param(rows(ORDER), [AN_ORDER] * 100 + [{}], id="an order"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), FITTING)
def test_what_is_ordinary_is_taken(schema: Schema, value: Any) -> None:
    check_schema(schema)
    assert Draft202012Validator(schema).is_valid(value)
    assert violations(value, schema) == ()


@pytest.mark.parametrize(("schema", "value"), NOT_FITTING)
def test_what_does_not_fit_is_told_where(schema: Schema, value: Any) -> None:
    check_schema(schema)
    found = violations(value, schema)
    places = {"".join(f"/{part}" for part in each.instance_path) for each in
              Draft202012Validator(schema).iter_errors(value)}  # fmt: skip
    assert found
    assert {each.path for each in found} <= places
    assert not any(each.message.startswith("takes too long") for each in found)
