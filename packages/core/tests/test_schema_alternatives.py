"""Which branches a value can make the judge enter: told apart while that is cheap, and else all of them."""

from __future__ import annotations

from typing import Any

import pytest

from psych_runtime_core.schema.alternatives import groups, tag_of
from psych_runtime_core.schema.document import Document

Schema = dict[str, Any]


def tagged(count: int) -> list[Schema]:
    return [
        {"type": "object", "properties": {"kind": {"const": f"kind {index}"}}, "required": ["kind"]}
        for index in range(count)
    ]


def untagged(count: int) -> list[Schema]:
    return [{"type": "object", "properties": {f"member {index}": {}}} for index in range(count)]


def of_objects(branches: list[Schema]) -> list[list[int]]:
    found = groups(Document({"anyOf": branches}), branches, tagged=True)
    return [list(indices) for kind, indices in found if kind == "object"]


def test_a_tag_leads_to_its_branch_and_to_those_that_take_any() -> None:
    assert of_objects(tagged(2) + untagged(1)) == [[0, 2], [1, 2]]


@pytest.mark.parametrize("count", [200, 2_000])
def test_many_tags_beside_many_branches_without_one_are_not_told_apart(count: int) -> None:
    assert of_objects(tagged(count) + untagged(count)) == [list(range(2 * count))]


def test_branches_that_all_ask_for_a_wide_part_are_not_told_apart() -> None:
    wide: Schema = {"properties": {f"member {index}": {} for index in range(1_000)}}
    branches = [{**branch, "allOf": [{"$ref": "#/$defs/wide"}]} for branch in tagged(100)]
    document = Document({"$defs": {"wide": wide}, "anyOf": branches})
    assert tag_of(document, branches) is None
    assert tag_of(document, branches[:10]) == "kind"
