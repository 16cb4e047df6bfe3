"""Which client is asked follows from the name of the model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from packages.runtime.tests.model_calls import context, request
from psych_runtime.model.by_model import ByModel, provider_of
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime_core.errors import AccessDenied, ModelError, ModelErrorKind
from psych_runtime_core.messages import FinishReason
from psych_runtime_core.ports.model import (
    ModelCallContext,
    ModelCapabilities,
    ModelClient,
    ModelRequest,
    StreamDone,
    StreamEvent,
    TextDelta,
)


class Named(FakeModel):
    """A fake of another provider."""

    def __init__(self, provider: str, known: Sequence[str] = ("m",)) -> None:
        super().__init__(known_models=known, capabilities=ModelCapabilities(context_window=len(provider)))
        self.provider = provider


class Wrapped:
    """A client around another, as one that records is."""

    def __init__(self, inner: ByModel) -> None:
        self._inner = inner
        self.provider = inner.provider
        self.stream, self.capabilities, self.known_models = (
            inner.stream,
            inner.capabilities,
            inner.known_models,
        )

    def provider_of(self, model: str) -> str:
        return provider_of(self._inner, model)


class Watched(Named):
    """Knows whether its stream was closed."""

    closed = False

    async def stream(
        self, request: ModelRequest, context: ModelCallContext
    ) -> AsyncGenerator[StreamEvent, None]:
        try:
            yield TextDelta("one")
            yield TextDelta("two")
            yield StreamDone(FinishReason.STOP)
        finally:
            self.closed = True


A, B, C, D = (Named(name) for name in "abcd")
TABLE: Mapping[str, ModelClient] = {"claude-*": A, "claude-opus-*": B, "claude-opus-4": C, "gpt-5": D}


@pytest.mark.parametrize(
    ("model", "client"),
    [
        ("claude-haiku", A),
        ("claude-", A),
        ("claude-opus-3", B),
        ("claude-opus-40", B),
        ("claude-opus-4", C),
        ("gpt-5", D),
    ],
)
def test_a_whole_name_wins_and_then_the_longest_beginning(model: str, client: Named) -> None:
    routes = ByModel(TABLE)
    assert routes.client_for(model) is client
    assert routes.capabilities(model) == client.capabilities(model)
    assert routes.provider_of(model) == client.provider


@pytest.mark.parametrize("model", ["gpt-5-mini", "gpt-", "claude", "Claude-haiku", "gpt-5*", ""])
async def test_a_name_of_nobody_is_a_model_that_is_not_found(model: str) -> None:
    routes = ByModel(TABLE)
    with pytest.raises(ModelError, match="the names are claude-") as caught:
        routes.client_for(model)
    error = caught.value
    assert (error.kind, error.code, error.model) == (ModelErrorKind.PERMANENT, "model_not_found", model)
    assert routes.capabilities(model) == ModelCapabilities()
    with pytest.raises(ModelError):
        provider_of(routes, model)


async def test_a_stream_of_nobodys_model_raises_as_a_stream_does() -> None:
    stream = ByModel({"gpt-*": A}).stream(request("claude-1"), context())
    with pytest.raises(ModelError, match="claude-1"):
        async for _ in stream:
            pass


def test_a_star_alone_takes_what_is_left() -> None:
    routes = ByModel({"*": A, "gpt-*": B})
    assert (routes.provider_of("gpt-5"), routes.provider_of("llama"), routes.provider_of("*")) == tuple("baa")


@pytest.mark.parametrize("name", ["", "*-mini", "gpt-**", "gpt*5"])
def test_a_star_stands_at_the_end_alone(name: str) -> None:
    with pytest.raises(ValueError, match="at its end alone"):
        ByModel({name: A})


@pytest.mark.parametrize("clients", [{}, [], [A], "gpt-*", None], ids=["none", "[]", "list", "name", "None"])
def test_no_clients_are_refused(clients: Any) -> None:
    with pytest.raises(ValueError, match="has no clients; give"):
        ByModel(clients)


@pytest.mark.parametrize(
    ("client", "cure"),
    [
        pytest.param("gpt", "a str without stream, .*; give a ModelClient", id="a name"),
        pytest.param(FakeModel, "the class FakeModel itself; give", id="a class"),
    ],
)
def test_what_is_no_client_is_refused_by_its_key(client: Any, cure: str) -> None:
    with pytest.raises(TypeError, match=rf"the client of '\*' is {cure}"):
        ByModel({"gpt-*": A, "*": client})


def test_later_changes_of_the_mapping_change_nothing() -> None:
    given: dict[str, ModelClient] = {"*": A}
    routes = ByModel(given)
    given["gpt-*"] = B
    assert routes.client_for("gpt-5") is A


async def test_the_model_is_asked_with_what_was_given() -> None:
    model = Named("a").turn("Hello.")
    asked, by = request("gpt-5"), context()
    assert isinstance(model, Named)
    async with aclosing(ByModel({"gpt-*": model}).stream(asked, by)) as stream:
        events = [event async for event in stream]
    assert isinstance(events[-1], StreamDone)
    assert [(call.request, call.context) for call in model.calls] == [(asked, by)]


async def test_closing_the_stream_closes_the_one_below() -> None:
    watched = Watched("a")
    async with aclosing(ByModel({"*": watched}).stream(request(), context())) as stream:
        assert await anext(stream) == TextDelta("one")
        assert not watched.closed
    assert watched.closed


async def test_an_error_comes_through_as_it_is() -> None:
    model = FakeModel()
    model.rejects_auth()
    with pytest.raises(ModelError) as caught:
        async for _ in ByModel({"*": model}).stream(request(), context()):
            pass
    assert caught.value.kind is ModelErrorKind.AUTH


def test_each_of_its_clients_is_named_once() -> None:
    assert ByModel({"claude-*": A, "gpt-*": B, "*": A}).clients == (A, B)


async def test_each_client_is_asked_once_for_the_models_that_are_its_own() -> None:
    a, b = Named("a", ["claude-1", "gpt-5", "claude-2"]), Named("b", ["gpt-5", "gpt-6", "llama"])
    routes = ByModel({"claude-*": a, "claude-x": a, "gpt-*": b})
    assert await routes.known_models(context()) == ("claude-1", "claude-2", "gpt-5", "gpt-6")


async def test_one_that_cannot_name_its_models_leaves_the_list_unknown() -> None:
    assert await ByModel({"claude-*": A, "*": Named("b", ())}).known_models(context()) == ()


async def test_a_client_that_denies_its_list_denies_it_here() -> None:
    class Closed(Named):
        async def known_models(self, context: ModelCallContext) -> Sequence[str]:
            raise AccessDenied("its models", "not yours")

    with pytest.raises(AccessDenied):
        await ByModel({"*": Closed("a")}).known_models(context())


def test_the_provider_is_the_one_that_answers_through_any_number_of_clients() -> None:
    inner = ByModel({"gpt-*": A, "*": B})
    outer = ByModel({"gpt-*": inner, "*": C})
    assert provider_of(outer, "gpt-5") == "a"
    assert provider_of(outer, "claude-1") == "c"
    assert provider_of(Wrapped(outer), "gpt-5") == "a"
    assert provider_of(A, "anything") == "a"
