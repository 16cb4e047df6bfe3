"""Our judge and the `jsonschema` package, written independently, agree on what fits a schema."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from packages.core.tests.json_schemas import ASSERTIONS, INSTANCES, REFERENCES, Schema, schemas
from psych_runtime_core.schema import check_schema, violations


@given(
    schema=schemas(ASSERTIONS | REFERENCES),
    # It refers to nothing, or the other judge would go round in it for ever.
    definition=schemas(ASSERTIONS),
    instances=st.lists(INSTANCES, min_size=1, max_size=8),
)
def test_another_judge_agrees(schema: Schema, definition: Schema, instances: list[Any]) -> None:
    whole = {**schema, "$defs": {"defined": definition}}
    check_schema(whole)
    other: Any = Draft202012Validator(whole)
    ours = [violations(instance, whole) == () for instance in instances]
    assert ours == [other.is_valid(instance) for instance in instances]
