"""The rule of publishing that a Spec, which is stored in clear, holds the names of secrets alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from psych_runtime_core.errors import Loc, ValidationIssue, pointer
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.templates import url_template
from psych_runtime_core.spec.validate.context import ValidationContext

_ENDS = (
    *("authorization", "cookie", "secret", "password", "passwd", "apikey", "accesskey", "secretkey"),
    *(f"{kind}token" for kind in ("access", "api", "auth", "bearer", "id", "refresh", "session")),
)
_NAMED = "name the secret in `credential`, and the header that carries it in `credential_header`"
_SEPARATORS = str.maketrans("", "", "-_. ")
# What such a name holds that switches something.
_SWITCHES = frozenset({"", "0", "1", "false", "no", "none", "off", "on", "true", "yes"})


def no_secret_in_clear(spec: AgentSpec, _context: ValidationContext) -> Iterator[ValidationIssue]:
    """No setting of the model, and no query of a tool's URL, looks like a secret."""
    for at in _secrets_in(spec.model.options, ("model", "options")):
        yield _issue(at, str(at[-1]), "give it to the model client, as its api_key, credential or headers")
    for index, tool in enumerate(spec.tools):
        for part in url_template(tool.url).query if isinstance(tool, HttpTool) else ():
            if _looks_like_a_secret(unquote(part.key), part.literal):
                yield _issue(("tools", index, "url"), f"{part.key} of its query", _NAMED)


def _issue(at: Loc, what: str, cure: str) -> ValidationIssue:
    message = f"{what} looks like a secret, and a Spec is stored in clear: {cure}"
    return ValidationIssue(IssueCode.LITERAL_SECRET, pointer(at), message)


def _secrets_in(settings: Json, at: Loc) -> Iterator[Loc]:
    """The place of each setting in `settings`, however deep, that looks like a secret."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if _looks_like_a_secret(name, value):
                yield (*at, name)
            yield from _secrets_in(value, (*at, name))
    elif isinstance(settings, list | tuple):
        for index, value in enumerate(settings):
            yield from _secrets_in(value, (*at, index))


def _looks_like_a_secret(name: str, value: Json) -> bool:
    """A text under such a name. Numbers and lists count or choose something."""
    bare = name.lower().translate(_SEPARATORS)
    is_named = bare == "token" or bare.endswith(_ENDS)
    return is_named and isinstance(value, str) and value.lower() not in _SWITCHES
