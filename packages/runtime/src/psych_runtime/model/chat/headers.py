"""The headers of a call, the client's over those of its trace; and what of them no error may repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, cast

from psych_runtime.egress.headers import checked
from psych_runtime.model.chat.consumer import Unfit, given_by
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.secrets.masks import SHORTEST_MASKED
from psych_runtime_core.ports.model import ModelCallContext

Headers: TypeAlias = Mapping[str, str] | Callable[[ModelCallContext], Mapping[str, str]]

# What everybody may know, and every provider speaks of.
_PUBLIC = {"accept", "api-version", "content-type", "user-agent"}


async def headers_for(
    given: Headers, context: ModelCallContext, errors: CallErrors, sent: list[str]
) -> Mapping[str, str]:
    """The headers by lower-case names. What may be a secret in those that are made for the call is added to
    `sent`. Raises `ModelError` for what cannot be sent.
    """

    async def make() -> object:
        return given(context) if callable(given) else given

    def fits(own: object) -> Mapping[str, str]:
        made = sendable(own)
        sent.extend(private_values(made))
        return {name.lower(): value for name, value in {**sendable(context.headers), **made}.items()}

    return await given_by(make, fits, errors, "The headers cannot be sent")


def private_values(given: Mapping[str, str]) -> Iterator[str]:
    """What may be a secret among the values of headers or of a query, and the key behind a scheme in one."""
    for name, value in given.items():
        words = value.split(" ")
        for text in (value, words[1]) if len(words) == len(("scheme", "key")) else (value,):
            if len(text) >= SHORTEST_MASKED and name.lower() not in _PUBLIC:
                yield text


def sendable(headers: object) -> Mapping[str, str]:
    """The same, if all of them stay within their header. Raises `Unfit`."""
    try:
        return checked(texts(headers))
    except ValueError as fault:
        raise Unfit(str(fault)) from None


def texts(given: object) -> Mapping[str, str]:
    """A copy of a mapping of texts to texts. Raises `Unfit` for what is none."""
    if not isinstance(given, Mapping):
        raise Unfit(f"{type(given).__name__} is no mapping of names to values")
    copied = dict(cast("Mapping[object, object]", given))
    for name, value in copied.items():
        if not isinstance(name, str):
            raise Unfit(f"a name is of type {type(name).__name__}: give a text")
        if not isinstance(value, str):
            raise Unfit(f"the value of {name} is of type {type(value).__name__}: give a text")
    return cast("dict[str, str]", copied)
