"""Who sends, for what, and under which limits: the keywords that all ways through the transport share."""

from __future__ import annotations

from collections.abc import AsyncIterable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Required, Self, TypeAlias, TypedDict, cast, get_args

from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.headers import checked
from psych_runtime.egress.limits import MAX_REDIRECTS, MAX_RESPONSE_BYTES, HttpTimeouts
from psych_runtime.egress.target import origin_of
from psych_runtime_core.errors import AccessDenied
from psych_runtime_core.ports.egress import EgressPurpose
from psych_runtime_core.scope import Scope

if TYPE_CHECKING:
    import httpx2

Value: TypeAlias = str | int | float | bool | None
Params: TypeAlias = Mapping[str, Value | Sequence[Value]] | str | None
Content: TypeAlias = str | bytes | AsyncIterable[bytes] | None


class ClientSettings(TypedDict, total=False):
    """How a client sends.

    `credential` goes to its own origin alone; `auth` is a flow of httpx2's, for SDKs that bring one.
    `timeouts` and `max_response_bytes`, which counts unpacked bytes, are the transport's when they are left
    out; a cap of None is none. `configured` are the URLs or origins that the process's own code named, never
    one out of a Spec, a reply or a document.
    """

    credential: CredentialBinding | None
    auth: httpx2.Auth | None
    headers: Mapping[str, str] | None
    timeouts: HttpTimeouts | None
    max_response_bytes: int | None
    configured: Collection[str]


class RequestSettings(ClientSettings, total=False):
    """How a request is sent, and what. `redirects` (0 to 5) are followed, each judged anew."""

    params: Params
    json: object
    content: Content
    redirects: int


class TransportClientSettings(ClientSettings, total=False):
    """What `HttpTransport.client` takes: how it sends, and what for."""

    purpose: Required[EgressPurpose]


class TransportRequestSettings(RequestSettings, TransportClientSettings, total=False):
    """What `HttpTransport.request` and `stream` take: how a request is sent, what for, and for whom."""

    scope: Required[Scope]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The options of a client, checked; `ValueError` and `TypeError` say what to give instead."""

    scope: Scope
    purpose: EgressPurpose
    credential: CredentialBinding | None = None
    auth: httpx2.Auth | None = None
    headers: Mapping[str, str] | None = None
    timeouts: HttpTimeouts | None = None
    max_response_bytes: int | None = MAX_RESPONSE_BYTES
    configured: Collection[str] = ()

    @classmethod
    def of(cls, options: Mapping[str, object]) -> Self:
        """Out of keywords that were handed on; one that is none, or a missing one, is told of as theirs."""
        known = {field.name: field.default is not MISSING for field in fields(cls)}
        if unknown := sorted(options.keys() - known):
            raise TypeError(f"{unknown[0]}= is no option here; these are: {', '.join(sorted(known))}")
        if absent := [name for name, optional in known.items() if not optional and name not in options]:
            raise TypeError(f"{absent[0]}= is missing: give {_CURES[absent[0]]}")
        return cls(**cast("dict[str, Any]", options))

    def __post_init__(self) -> None:
        for name, kind in {"scope": Scope, "credential": CredentialBinding, "timeouts": HttpTimeouts}.items():
            given: object = getattr(self, name)
            if not isinstance(given, kind) and (given is not None or kind is Scope):
                raise TypeError(f"{name} is a {type(given).__name__}: give {_CURES[name]}")
        if self.purpose not in get_args(EgressPurpose):
            raise ValueError(f"purpose={self.purpose!r} is none: give {_CURES['purpose']}")
        if isinstance(self.configured, str):
            raise TypeError(f"configured is one text: write configured=({self.configured!r},)")
        if self.max_response_bytes is not None and self.max_response_bytes < 0:
            raise ValueError("max_response_bytes is below 0: give bytes, or None for no cap")
        object.__setattr__(self, "headers", checked(self.headers or {}))
        object.__setattr__(self, "configured", frozenset(map(_origin, self.configured)))

    @property
    def effective_timeouts(self) -> HttpTimeouts:
        """Those that were given, else the default ones."""
        return self.timeouts or HttpTimeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending(Caller):
    """The options of one request, checked."""

    params: Params = None
    json: object = None
    content: Content = None
    redirects: int = 0

    def __post_init__(self) -> None:
        # A class with slots is made anew, so a bare super() would look for the one that was not.
        Caller.__post_init__(self)
        if not 0 <= self.redirects <= MAX_REDIRECTS:
            raise ValueError(
                f"redirects={self.redirects}: at most {MAX_REDIRECTS} are followed, 0 hands them on"
            )


_CURES = {
    "scope": "a Scope, such as Scope(tenant='acme')",
    "purpose": f"one of {', '.join(get_args(EgressPurpose))}",
    "credential": "a CredentialBinding(origin, resolve)",
    "timeouts": "HttpTimeouts(total=10.0), or the like",
}


def _origin(url: str) -> str:
    try:
        return origin_of(url)
    except AccessDenied as error:
        raise ValueError(f"configured= holds a URL that is none: {error.reason}") from None
