"""The client of every provider that speaks OpenAI's chat completions."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from hashlib import sha256
from types import MappingProxyType

from pydantic import SecretStr

from psych_runtime.egress.credential import CredentialBinding
from psych_runtime.egress.headers import checked
from psych_runtime.egress.transport import HttpTransport
from psych_runtime.model.chat.api_key import key_of, resolving
from psych_runtime.model.chat.call import Call, call_events
from psych_runtime.model.chat.dialects import DIALECTS, Dialect, dialect_of
from psych_runtime.model.chat.endpoint import endpoint_of
from psych_runtime.model.chat.headers import Headers, headers_for, private_values, sendable, texts
from psych_runtime.model.chat.request.encode import encode_request
from psych_runtime.model.chat.request.limits import Unsendable
from psych_runtime.model.chat.request.messages import Terms
from psych_runtime.model.decoding import decoded
from psych_runtime.model.errors.replies import CallErrors
from psych_runtime.model.shapes import items, members
from psych_runtime.verdicts import is_cancellation
from psych_runtime_core.errors import AccessDenied, ModelErrorKind
from psych_runtime_core.messages import ModelSource
from psych_runtime_core.ports.model import ModelCallContext, ModelCapabilities, ModelRequest, StreamEvent
from psych_runtime_core.ports.secrets import SecretResolver
from psych_runtime_core.scope import Scope

MAX_MODELS_BYTES = 2 * 1024 * 1024
MAX_PROVIDER = 64


class OpenAICompatibleClient:
    """A `ModelClient` for OpenAI, and for whoever offers the same wire.

    `base_url` is that of the API, such as `https://api.openai.com/v1`. The key is `api_key`, or `credential`,
    a name that `secrets` resolves with the Scope of each call. `scope` binds the client to its tenant;
    `headers` are sent with each request, fixed or made for each call; `query` goes into each URL. `dialect`,
    a row or the name of one, is else chosen by the host; `provider` defaults to its name, or the host.
    `capabilities` says by model id what its row does not. `auth_header` and `auth_scheme` say in which header
    the key goes and what stands before it, in place of what the row says; of the two, one that is left out
    is `Authorization` or `Bearer`. A bad argument raises `ValueError`.
    """

    def __init__(  # noqa: PLR0913 - the options of a public call
        self,
        *,
        base_url: str,
        api_key: str | SecretStr | None = None,
        credential: str | None = None,
        secrets: SecretResolver | None = None,
        scope: Scope | None = None,
        headers: Headers | None = None,
        query: Mapping[str, str] | None = None,
        transport: HttpTransport | None = None,
        provider: str | None = None,
        dialect: Dialect | str | None = None,
        capabilities: Mapping[str, ModelCapabilities] | None = None,
        auth_header: str | None = None,
        auth_scheme: str | None = None,
    ) -> None:
        self._endpoint = endpoint_of(base_url)
        self._key = key_of(api_key, credential, secrets)
        self._scope = scope
        self._headers = headers if callable(headers) else MappingProxyType(sendable(headers or {}))
        self._query = MappingProxyType(texts(query or {}))
        self._dialect = _dialect(dialect, self._endpoint.host)
        self._capabilities = MappingProxyType(dict(capabilities or {}))
        self._auth = _auth(self._dialect, auth_header, auth_scheme)
        self.provider = _provider(provider, self._dialect, self._endpoint.host)
        self.transport = HttpTransport() if transport is None else transport

    def __repr__(self) -> str:
        return f"OpenAICompatibleClient(base_url={self._endpoint.base_url!r}, provider={self.provider!r})"

    def capabilities(self, model: str) -> ModelCapabilities:
        """What was stated for `model`, else what its provider can do."""
        return self._capabilities.get(model, self._dialect.capabilities)

    async def known_models(self, context: ModelCallContext) -> Sequence[str]:
        """The ids that the provider lists; `()` when it lists none, in whatever way."""
        self._admit(context)
        try:
            return await self._listed_models(context)
        except AccessDenied:
            raise
        except (Exception, CancelledError) as error:
            if is_cancellation(error):
                raise
            # Nobody asks for a list who could not do without it: no key, no server and no JSON are no list.
            return ()

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        """One try, as every `ModelClient` makes it."""
        self._admit(context)
        errors, credential, headers = await self._access(request.model, context)
        call = Call(
            endpoint=self._endpoint,
            scope=context.scope,
            errors=errors,
            credential=credential,
            headers=headers,
            query=self._query,
            body=self._body(request, context, errors),
            idle_seconds=request.idle_timeout_seconds,
        )
        async with aclosing(call_events(call, self.transport)) as events:
            async for event in events:
                yield event

    async def _listed_models(self, context: ModelCallContext) -> Sequence[str]:
        _, credential, headers = await self._access("any model", context)
        reply = await self.transport.request(
            "GET",
            self._endpoint.models,
            scope=context.scope,
            purpose="model",
            credential=credential,
            headers=headers,
            params=self._query or None,
            max_response_bytes=MAX_MODELS_BYTES,
            configured=(self._endpoint.origin,),
        )
        return _ids_in(reply.content) if reply.status_code == 200 else ()

    # --- what a call is made of ------------------------------------------------------------------------

    def _admit(self, context: ModelCallContext) -> None:
        if self._scope is not None and context.scope.tenant != self._scope.tenant:
            raise AccessDenied(self._endpoint.origin, "this model client serves one tenant, and another asks")

    async def _access(
        self, model: str, context: ModelCallContext
    ) -> tuple[CallErrors, CredentialBinding | None, Mapping[str, str]]:
        """With which key and headers the provider is reached; the errors know what was sent, and hide it."""
        sent = [*private_values(self._query)]
        errors = CallErrors(provider=self.provider, model=model, secrets=sent)
        headers = await headers_for(self._headers, context, errors, sent)
        if self._key is None:
            return errors, None, headers
        resolve = resolving(self._key, context.scope, errors, sent)
        return errors, CredentialBinding(self._endpoint.origin, resolve, *self._auth), headers

    def _body(self, request: ModelRequest, context: ModelCallContext, errors: CallErrors) -> bytes:
        source = ModelSource(provider=self.provider, model=request.model)
        terms = Terms(self._dialect, self.capabilities(request.model), source)
        try:
            return encode_request(request, terms, cache_key=context.cache_key)
        except Unsendable as unsendable:
            kind, words, code = ModelErrorKind.PERMANENT, unsendable.words, unsendable.code
            raise errors.of_ours(kind, words, code=code, begun=False) from None


# --- arguments -----------------------------------------------------------------------------------------


def _dialect(stated: Dialect | str | None, host: str) -> Dialect:
    if stated is None:
        return dialect_of(host)
    if isinstance(stated, Dialect):
        return stated
    known = DIALECTS.get(stated)
    if known is None:
        raise ValueError(f"dialect={stated!r} is none: give one of {', '.join(DIALECTS)}, or a Dialect")
    return known


def _auth(dialect: Dialect, header: str | None, scheme: str | None) -> tuple[str, str]:
    """The header of the key and what stands before it: as stated, the dialect's where nothing is."""
    if header is None and scheme is None:
        header, scheme = dialect.auth_header, dialect.auth_scheme
    header = "Authorization" if header is None else header
    scheme = "Bearer" if scheme is None else scheme
    checked({header: scheme})
    return header, scheme


def _provider(stated: str | None, dialect: Dialect, host: str) -> str:
    if stated is None:
        return _shortened(host) if dialect.name == "other" else dialect.name
    if not 1 <= len(stated) <= MAX_PROVIDER:
        raise ValueError(f"provider has {len(stated)} characters: give 1 to {MAX_PROVIDER}")
    return stated


def _shortened(host: str) -> str:
    """A host; of a long one the end, and a digest of it all: two providers are never one source."""
    if len(host) <= MAX_PROVIDER:
        return host
    digest = sha256(host.encode()).hexdigest()[:16]
    return f"{host[-(MAX_PROVIDER - 1 - len(digest)) :]}~{digest}"


def _ids_in(body: bytes) -> tuple[str, ...]:
    """The ids in a list of models. `ValueError` and `RecursionError` for what is no JSON."""
    document = members(decoded(body.decode("utf-8-sig").strip()))
    ids = (members(row).get("id") for row in items(document.get("data")))
    return tuple(model for model in ids if isinstance(model, str))
