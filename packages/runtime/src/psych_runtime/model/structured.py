"""How an answer that must fit a schema is asked of a model."""

from __future__ import annotations

from collections.abc import Mapping

from psych_runtime.model.errors.table import advice
from psych_runtime_core.engine.structured import is_wrapped
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.ports.model import ModelCapabilities
from psych_runtime_core.records.facts import AskedMode
from psych_runtime_core.spec.model import OutputMode


def asked_mode(
    wanted: OutputMode, schema: Mapping[str, Json], able: ModelCapabilities, *, with_tools: bool
) -> AskedMode:
    """How the answer is asked for. Raises the permanent `unsupported_output` where the model cannot do it.

    Providers bind objects, and few of them anything else: a schema of no object is sent to bind the answer
    only where the Spec says `native` itself.
    """
    native = able.bound(with_tools=with_tools) == "schema"
    if wanted == "auto":
        if native and not is_wrapped(schema):
            return "native"
        return "tool" if able.tools else "prompted"
    if wanted == "native" and not native:
        beside = " while tools are offered" if able.structured_output == "schema" else ""
        raise _unsupported(f"it cannot bind an answer to a schema{beside}")
    if wanted == "tool" and not able.tools:
        raise _unsupported("it cannot call tools")
    return wanted


def goes_along(
    mode: AskedMode | None, schema: Mapping[str, Json], able: ModelCapabilities, *, with_tools: bool
) -> bool:
    """Whether the schema is sent: to bind the answer, or for a promise of JSON where no more is to be had.

    That promise is of an object: it would rule out every other answer.
    """
    if mode == "prompted":
        return able.bound(with_tools=with_tools) == "json" and not is_wrapped(schema)
    return mode == "native"


def _unsupported(why: str) -> ModelError:
    kind, code = ModelErrorKind.PERMANENT, "unsupported_output"
    cure = advice(kind, code).format(provider="its provider")
    return ModelError(kind, f"This model cannot do as the Spec's output_mode says: {why}. {cure}", code=code)
