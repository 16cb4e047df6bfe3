"""An HTTP endpoint as a tool: all of it is data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from psych_runtime_core.errors import BadSchema
from psych_runtime_core.jsonvalue import FrozenDict, Json, JsonObject
from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.schema import check_schema
from psych_runtime_core.spec.base import (
    MAX_ENTRIES,
    FromList,
    GrantedName,
    Line,
    Prose,
    SecretName,
    SpecModel,
)
from psych_runtime_core.spec.headers import HeaderName, Headers, HeaderText, no_headers
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.templates import url_template
from psych_runtime_core.spec.urls import MAX_URL

HttpMethod: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Annotation: TypeAlias = Literal["read-only", "write", "destructive"]


def _template(text: str) -> str:
    try:
        url_template(text)
    except ValueError as bad:
        refuse(Refusal(IssueCode.BAD_URL, str(bad), text))
    return text


def _usable(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """`{}` takes any object; any other says that it is of one."""
    try:
        check_schema(schema, object_root=bool(schema))
    except BadSchema as bad:
        refuse(Refusal(IssueCode.BAD_SCHEMA, bad.reason, schema, bad.loc))
    return schema


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    again = [
        Refusal(IssueCode.DUPLICATE_NAME, f"{name!r} stands twice", name, (at,))
        for at, name in enumerate(names)
        if name in names[:at]
    ]
    if again:
        refuse(*again)
    return names


def _stated(annotations: tuple[Annotation, ...]) -> tuple[Annotation, ...]:
    """The order says nothing."""
    if "read-only" in annotations and len(set(annotations)) > 1:
        reason = "a tool cannot be read-only and change something: write one of the two"
        refuse(Refusal(IssueCode.CONFLICT, reason, annotations))
    return tuple(sorted(set(annotations)))


UrlText = Annotated[str, Field(max_length=MAX_URL), AfterValidator(_template)]
ArgumentName = Annotated[Line, Field(min_length=1, max_length=256)]
ArgumentNames = Annotated[
    tuple[ArgumentName, ...], Field(max_length=MAX_ENTRIES), FromList, AfterValidator(_distinct)
]


class HttpTool(SpecModel):
    """An endpoint that a model may call; its arguments fill the path, the query, the headers and the body.

    - `url`: `{name}` stands in path segments and query values only. `query`: arguments that go into the query
      of a method that has a body, unless the URL has a place for them. `headers`: fixed ones, with `{name}`
      in their values.
    - `credential` is the name of a secret, sent in `credential_header` after the word `credential_scheme`.
    - `idempotency_header` carries the call's key, the same at each try and after a crash.
    - No `annotations`: GET is read-only, DELETE destructive, any other writes. `safe_to_retry` None: GET is.
    - `timeout_seconds` bounds one try. `interruptible` lets an abort cut a call.
    """

    kind: Literal["http"] = "http"
    name: GrantedName
    description: Prose = Field(min_length=1, max_length=4_096)
    url: UrlText
    method: HttpMethod = "POST"
    input_schema: Annotated[JsonObject, AfterValidator(_usable)] = Field(default_factory=FrozenDict)
    query: ArgumentNames = ()
    headers: Headers = Field(default_factory=no_headers)
    credential: SecretName | None = None
    credential_header: HeaderName = "Authorization"
    credential_scheme: Annotated[HeaderText, Field(max_length=64)] = "Bearer"
    idempotency_header: HeaderName | None = None
    annotations: Annotated[tuple[Annotation, ...], FromList, AfterValidator(_stated)] = ()
    safe_to_retry: bool | None = None
    timeout_seconds: float = Field(default=30.0, gt=0, le=600)
    interruptible: bool = True

    @model_validator(mode="after")
    def _says_each_header_once(self) -> Self:
        added = {"idempotency_header": self.idempotency_header}
        if self.credential is not None:
            added["credential_header"] = self.credential_header
        said = {name.lower() for name in self.headers}
        twice: list[Refusal] = []
        for field, name in added.items():
            if name is not None and name.lower() in said:
                reason = f"{name} is said by another field too"
                twice.append(Refusal(IssueCode.CONFLICT, reason, name, (field,)))
            said.add((name or "").lower())
        if twice:
            refuse(*twice)
        return self
