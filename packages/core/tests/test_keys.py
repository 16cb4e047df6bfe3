"""What is kept of an idempotency key."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.ports.keys import key_digest, request_under

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
PAIRS = st.tuples(TEXTS, TEXTS)
REQUESTS = st.binary(min_size=32, max_size=32)


@given(PAIRS, PAIRS)
def test_two_keys_have_one_digest_only_when_tenant_and_key_are_equal(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert (key_digest(*one) == key_digest(*other)) is (one == other)


def test_what_moves_from_tenant_to_key_makes_another_digest() -> None:
    assert (
        len({key_digest("a", "bc"), key_digest("ab", "c"), key_digest("abc", ""), key_digest("", "abc")}) == 4
    )


def test_a_digest_is_the_same_in_every_release() -> None:
    plain = b"\0\0\0\0\0\0\0\4acme\0\0\0\0\0\0\0\7order-1"
    assert key_digest("acme", "order-1") == hashlib.sha256(plain).digest()
    assert request_under("é", b"r" * 32) == hashlib.sha256(b"\xc3\xa9" + b"r" * 32).digest()


@given(TEXTS, REQUESTS, REQUESTS)
def test_a_request_under_its_key_is_told_from_another(key: str, one: bytes, other: bytes) -> None:
    assert (request_under(key, one) == request_under(key, other)) is (one == other)


@given(REQUESTS)
def test_one_request_under_two_keys_looks_different(request: bytes) -> None:
    assert request_under("order-1", request) != request_under("order-2", request)
