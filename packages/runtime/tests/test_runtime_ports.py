"""A Runtime looks at its ports before any Run meets them."""

from typing import Any

import pytest

from packages.core.tests.codecs import SealingCodec
from psych_runtime import (
    AllowAll,
    InMemoryBlobStore,
    InMemoryStore,
    RunId,
    Runtime,
    Scope,
    StaticPriceTable,
    SystemClock,
    ToolRegistry,
    blob_key,
    scoped,
)
from psych_runtime.testing import FakeModel


def ports(**given: Any) -> dict[str, Any]:
    return {"store": InMemoryStore(), "model": FakeModel(), "registry": ToolRegistry(), **given}


class Awaited(FakeModel):
    async def stream(self, request: Any, context: Any) -> Any:  # type: ignore[override]  # the mistake
        raise AssertionError(request, context)


class Unnamed:
    def price_for(self, model: str, **asked: Any) -> None:
        raise AssertionError(model, asked)


class Slow:
    catalog = None

    async def price_for(self, model: str, **asked: Any) -> None:
        raise AssertionError(model, asked)


class Unread(Unnamed):
    """Prices whose catalog is dear to read."""

    @property
    def catalog(self) -> str:
        raise AssertionError


async def test_blobs_are_by_default_the_stores_own_sealed_as_its_logs_are() -> None:
    sealed = InMemoryStore(codec=SealingCodec())
    blobs, key = (
        Runtime(**ports(store=sealed)).blobs,
        blob_key(Scope(tenant="acme"), RunId("run_1"), "call_1.1"),
    )
    assert blobs is not None
    await blobs.put(key, b"said", content_type="text/plain")
    assert (await blobs.get(key), b"said" in await sealed.blobs.get(key)) == (b"said", False)


@pytest.mark.parametrize(
    ("given", "cure"),
    [
        ({"store": None}, "async with open_store"),
        ({"store": "sqlite:///x.db"}, "async with open_store"),
        ({"model": "gpt-4o"}, "a str without stream, provider, .*give a ModelClient"),
        ({"model": FakeModel}, "the class FakeModel itself; give a ModelClient"),
        ({"model": Awaited()}, "an? Awaited whose stream gives a coroutine; yield its events"),
        ({"registry": []}, "give a ToolRegistry"),
        ({"policy": object()}, "give a Policy"),
        ({"blobs": {}}, "give a BlobStore"),
        ({"store": InMemoryStore}, "the class InMemoryStore itself; open one"),
        ({"policy": AllowAll}, "the class AllowAll itself; give a Policy"),
        ({"prices": {"gpt-4o": 1}}, "a dict without price_for, catalog; give a PriceResolver"),
        ({"prices": Unnamed()}, "an? Unnamed without catalog; give a PriceResolver"),
        ({"prices": StaticPriceTable}, "the class StaticPriceTable itself; give a PriceResolver"),
        ({"prices": Slow()}, "an? Slow whose price_for is async; write def price_for"),
    ],
    ids=[
        "no store",
        "a url",
        "a name of a model",
        "a class",
        "a coroutine",
        "a list",
        "no policy",
        "no blobs",
        "a class of stores",
        "a class of policies",
        "a dict of prices",
        "prices without a name",
        "a class of prices",
        "prices that take time",
    ],
)
def test_a_port_of_the_wrong_shape_is_refused_with_a_cure(given: dict[str, Any], cure: str) -> None:
    with pytest.raises(TypeError, match=cure):
        Runtime(**ports(**given))


@pytest.mark.parametrize(
    "given",
    [{"clock": SystemClock()}, {"tool_threads": 0}, {"blob_offload_bytes": 0}],
    ids=lambda it: next(iter(it)),
)
def test_a_value_out_of_bounds_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        Runtime(**ports(**given))


def test_blobs_are_those_of_the_store_unless_others_are_given() -> None:
    store, other = InMemoryStore(), InMemoryBlobStore()
    assert Runtime(**ports(store=store)).blobs is store.blobs
    assert Runtime(**ports(store=store, blobs=other)).blobs is other
    assert Runtime(**ports(store=scoped(store, Scope(tenant="acme")))).blobs is None


def test_ports_of_the_right_shape_are_taken() -> None:
    given = ports(prices=Unread())
    assert Runtime(**given).store is given["store"]
