"""HTTP headers in a Spec: names, values that arguments fill in, and no secret among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, cast

from pydantic import AfterValidator, Field

from psych_runtime_core.jsonvalue import FrozenDict
from psych_runtime_core.refusal import Refusal, refuse
from psych_runtime_core.spec.base import Line
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.templates import BadTemplate, pieces_of

MAX_HEADERS = 64
MAX_HEADER_VALUE = 2_048

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_SECRET_LIKE = ("authorization", "cookie", "token", "secret", "password", "api-key", "apikey")
# They say where a request goes and where its body ends.
_OF_THE_REQUEST = frozenset(
    {"connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)
Fault = tuple[IssueCode, str]


def no_headers() -> Mapping[str, str]:
    """What a tool without headers has."""
    return _frozen({})


def _frozen(headers: Mapping[str, str]) -> Mapping[str, str]:
    return cast("Mapping[str, str]", FrozenDict(headers))


def _unusable(name: str) -> Fault | None:
    if not _TOKEN.fullmatch(name):
        return IssueCode.BAD_NAME, f"{name!r} is no name of a header: use letters, digits and -"
    if name.lower() in _OF_THE_REQUEST:
        return IssueCode.CONFLICT, f"the request sets {name} itself"
    return None


def _literal_secret(name: str) -> Fault | None:
    if not any(word in name.lower() for word in _SECRET_LIKE):
        return None
    reason = (
        f"{name} looks like a secret, and a Spec is stored in clear: name the secret in `credential`, and the"
        " header in `credential_header`"
    )
    return IssueCode.LITERAL_SECRET, reason


def _header_name(name: str) -> str:
    fault = _unusable(name)
    if fault is not None:
        refuse(Refusal(*fault, name))
    return name


def _headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    refusals: list[Refusal] = []
    taken: set[str] = set()
    for name in headers:
        fault = _unusable(name) or _literal_secret(name)
        if name.lower() in taken:
            fault = IssueCode.DUPLICATE_NAME, f"{name!r} stands twice; case makes no difference"
        taken.add(name.lower())
        refusals += [Refusal(*fault, name, (name,))] if fault else []
    if refusals:
        refuse(*refusals)
    return _frozen(headers)


def _carried(text: str) -> str:
    if not text.isascii():
        refuse(Refusal(IssueCode.BAD_TEXT, "holds what no header can carry: only ASCII goes into one", text))
    return text


def _template(text: str) -> str:
    try:
        pieces_of(text)
    except BadTemplate as bad:
        refuse(Refusal(IssueCode.BAD_TEXT, str(bad), text))
    return text


HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderText = Annotated[Line, AfterValidator(_carried)]
_Value = Annotated[HeaderText, Field(min_length=1, max_length=MAX_HEADER_VALUE), AfterValidator(_template)]
Headers = Annotated[Mapping[str, _Value], Field(max_length=MAX_HEADERS), AfterValidator(_headers)]
