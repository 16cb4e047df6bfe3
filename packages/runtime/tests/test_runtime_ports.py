"""A Runtime looks at its ports before any Run meets them."""

from typing import Any

import pytest

from psych_runtime import (
    InMemoryBlobStore,
    InMemoryStore,
    Runtime,
    Scope,
    SystemClock,
    ToolRegistry,
    scoped,
)
from psych_runtime.testing import FakeModel


def ports(**given: Any) -> dict[str, Any]:
    return {"store": InMemoryStore(), "model": FakeModel(), "registry": ToolRegistry(), **given}


@pytest.mark.parametrize(
    ("given", "cure"),
    [
        ({"store": None}, "async with open_store"),
        ({"store": "sqlite:///x.db"}, "async with open_store"),
        ({"model": "gpt-4o"}, "give a ModelClient"),
        ({"registry": []}, "give a ToolRegistry"),
        ({"policy": object()}, "give a Policy"),
        ({"blobs": {}}, "give a BlobStore"),
    ],
    ids=["no store", "a url", "a name of a model", "a list", "no policy", "no blobs"],
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
    given = ports()
    assert Runtime(**given).store is given["store"]
