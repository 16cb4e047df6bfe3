"""A pydantic model of a tool's arguments: it makes the schema, and instances out of a model's JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo

from psych_runtime.tools.faults import faults_of
from psych_runtime.tools.hints import called, text_in
from psych_runtime.tools.json_schema import Schema, schema_of
from psych_runtime.tools.signature import NO_DEFAULT, Parameter
from psych_runtime_core.errors import NotJson, ToolSchemaError, Violation, pointer
from psych_runtime_core.jsonvalue import Json, freeze

# Types that bring no configuration of their own (dataclasses, TypedDicts, NamedTuples) take this one too.
_CONFIG = ConfigDict(
    extra="forbid",
    allow_inf_nan=False,
    val_json_bytes="base64",
    ser_json_bytes="base64",
    protected_namespaces=(),
)
# The default of a parameter that is not passed at all when a model leaves it out.
ABSENT = object()


@dataclass(frozen=True, slots=True)
class ArgumentsModel:
    """Reads arguments into instances. `fields` leads from the model's fields to the function's parameters."""

    model: type[BaseModel]
    schema: Schema
    fields: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it may give."""
        return tuple(self.fields.values())

    @property
    def is_open(self) -> bool:
        """Whether it may give others too: never."""
        return False

    @property
    def always(self) -> tuple[str, ...]:
        """The parameters that it gives in any case, by a default at least."""
        infos = self.model.model_fields
        return tuple(name for field, name in self.fields.items() if infos[field].default is not ABSENT)

    def read(self, arguments: Mapping[str, Json]) -> dict[str, object] | tuple[Violation, ...]:
        """The arguments by parameter, or everything that is wrong with them."""
        try:
            text = json.dumps(freeze(arguments), ensure_ascii=False)
            return self._values(self.model.model_validate_json(text))
        except NotJson as refused:
            return (Violation(pointer(refused.loc), refused.reason),)
        except ValidationError as error:
            return faults_of(error, arguments)
        except (ValueError, AssertionError) as error:
            return (Violation("", str(error)),)
        except Exception as error:
            # A validator of the consumer's own may raise anything.
            return (Violation("", f"they could not be checked: {type(error).__name__}"),)

    def _values(self, read: BaseModel) -> dict[str, object]:
        values = {parameter: getattr(read, field) for field, parameter in self.fields.items()}
        return {parameter: value for parameter, value in values.items() if value is not ABSENT}


def model_from(parameters: Sequence[Parameter], tool: str) -> ArgumentsModel:
    """The model of these parameters.

    Its fields have neutral names, so that a parameter may have any. Raises `ToolSchemaError` naming the
    first parameter that no JSON can fill, or whose own type refuses its default.
    """
    _check_names(parameters, tool)
    try:
        model, schema = _built(parameters)
    except Exception as error:
        # Building runs code of the types' authors, which may raise anything.
        raise _blame(parameters, tool, error) from error
    fields = {f"p{at}": parameter.name for at, parameter in enumerate(parameters)}
    _check_defaults(model, fields, tool)
    return ArgumentsModel(model, schema, fields)


def _built(parameters: Sequence[Parameter]) -> tuple[type[BaseModel], Schema]:
    fields: dict[str, Any] = {f"p{at}": _field(parameter) for at, parameter in enumerate(parameters)}
    model = create_model("Arguments", __config__=_CONFIG, **fields)
    return model, schema_of(model)


def _field(parameter: Parameter) -> Any:
    """The field of one parameter; what its author says in a `Field` of their own goes first."""
    stated = _stated(parameter)
    more: dict[str, Any] = {"alias": _name(parameter)}
    if stated.description is None and (text := text_in(parameter.hint)):
        more["description"] = text
    if parameter.default is not ABSENT:
        more["validate_default"] = True
    hint: Any = Annotated[parameter.hint, Field(**more)]
    return hint if parameter.default is NO_DEFAULT else (hint, parameter.default)


def _stated(parameter: Parameter) -> FieldInfo:
    if parameter.default is NO_DEFAULT:
        return FieldInfo.from_annotation(parameter.hint)
    return FieldInfo.from_annotated_attribute(parameter.hint, parameter.default)


def _name(parameter: Parameter) -> str:
    """What a model calls it."""
    stated = _stated(parameter).validation_alias
    return stated if isinstance(stated, str) else parameter.name


# --- refusing ------------------------------------------------------------------------------------------


def _blame(parameters: Sequence[Parameter], tool: str, error: Exception) -> ToolSchemaError:
    """The error of the first parameter that cannot stand alone."""
    for parameter in parameters:
        try:
            _built([parameter])
        except Exception as alone:
            return ToolSchemaError(
                tool, parameter.name, _reason(alone, called(parameter.hint), parameter.name)
            )
    return ToolSchemaError(tool, None, _reason(error, "its signature", "it"))


def _reason(error: Exception, hint: str, name: str) -> str:
    if not isinstance(error, PydanticUserError | PydanticUndefinedAnnotation):
        return f"no schema can be made of {hint}: {error}"
    if error.code in ("undefined-annotation", "class-not-fully-defined"):
        return f"a type inside {hint} does not resolve: it must live at the top of a module"
    if error.code == "typed-dict-version":
        return "on Python 3.11 write `from typing_extensions import TypedDict`"
    said = error.message.partition(". ")[0]
    return f"{hint} has no JSON form ({said}): write a dataclass or a pydantic model, as in `{name}: Query`"


def _check_names(parameters: Sequence[Parameter], tool: str) -> None:
    seen: set[str] = set()
    for parameter in parameters:
        if not isinstance(_stated(parameter).validation_alias, str | None):
            reason = f"a model calls it by one name: write `Field(alias={parameter.name!r})`"
            raise ToolSchemaError(tool, parameter.name, reason)
        name = _name(parameter)
        if name in seen:
            raise ToolSchemaError(
                tool, parameter.name, f"another parameter is called {name!r} too: rename one"
            )
        seen.add(name)


def _check_defaults(model: type[BaseModel], fields: Mapping[str, str], tool: str) -> None:
    """Defaults are validated like arguments; of no arguments at all, the rest is missing."""
    try:
        model.__pydantic_validator__.validate_python({})
    except ValidationError as error:
        for details in error.errors(include_url=False, include_context=False):
            if details["type"] == "missing":
                continue
            field = str(details["loc"][0])
            default = model.model_fields[field].default
            advice = "write `| None` behind its type" if default is None else "write one that fits"
            reason = f"its own type refuses its default {default!r} ({details['msg']}): {advice}"
            raise ToolSchemaError(tool, fields[field], reason) from None
