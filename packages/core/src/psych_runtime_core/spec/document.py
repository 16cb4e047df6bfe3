"""A Spec as a document: read, and described to editors."""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from psych_runtime_core.errors import SpecValidationError
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.issues import issues_from

Spec: TypeAlias = AgentSpec

# Built when it is first used, like every model.
SPEC_ADAPTER: TypeAdapter[Spec] = TypeAdapter(Spec)


def read_spec(document: object) -> Spec:
    """The Spec that `document` states, a plain JSON object. Raises `SpecValidationError` with every issue."""
    try:
        return SPEC_ADAPTER.validate_python(document)
    except ValidationError as error:
        raise SpecValidationError(issues_from(error)) from None


def spec_json_schema() -> dict[str, Any]:
    """The JSON Schema of a Spec, for editors."""
    return SPEC_ADAPTER.json_schema()
