"""The rule of publishing that a Spec, which is stored in clear, holds the names of secrets alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from psych_runtime_core.errors import Loc, ValidationIssue, pointer
from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.http_tool import HttpTool
from psych_runtime_core.spec.issues import IssueCode
from psych_runtime_core.spec.templates import url_template
from psych_runtime_core.spec.validate.context import ValidationContext

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# What a key is of that opens something; others sort, cache or choose.
_OPENING = (
    *("access", "account", "api", "application", "auth", "encryption", "master", "private", "secret"),
    *("signing", "subscription"),
)
# What the name of a secret ends with.
_SECRETS = (
    *("authorization", "cookie", "credentials", "jwt", "passphrase", "passwd", "password", "pwd"),
    *("secret", "sig", *(f"{what}key" for what in _OPENING)),
)
# What a token is of that is a piece of text, or a place in a list of results.
_READ = frozenset(
    {"bos", "cls", "end", "eos", "invalid", "mask", "mid", "pad", "sep", "special", "start", "stop", "unk"}
    | {"continuation", "next", "page", "per", "valid"}
)
# What such a name holds that switches something, or is a token of text.
_CHOICE = re.compile(r"(?:0|1|false|no|none|off|on|true|yes|<.*>|\[.*\])?", re.IGNORECASE)
_NAMED = "name the secret in `credential`, and the header that carries it in `credential_header`"


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
    elif isinstance(settings, list):
        for index, value in enumerate(settings):
            yield from _secrets_in(value, (*at, index))


def _looks_like_a_secret(name: str, value: Json) -> bool:
    """A text under such a name. Numbers and lists count or choose something."""
    return isinstance(value, str) and not _CHOICE.fullmatch(value) and _names_a_secret(name)


def _names_a_secret(name: str) -> bool:
    """By its letters, however they are joined; a token by the part of the name before it."""
    parts: list[str] = ["", "", *(part.lower() for part in _PART.findall(name))]
    before, last = parts[-2:]
    bare = "".join(parts)
    if bare.endswith("token"):
        return (last.removesuffix("token") or before) not in _READ
    return bare.endswith(_SECRETS)
