"""Access narrows and never widens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psych_runtime_core.spec.grants import narrow

names = st.text("ab_", min_size=1, max_size=4)
patterns = st.one_of(names, names.map(lambda name: name + "*"), st.just("*"))
plane = st.none() | st.lists(patterns, max_size=3)


@pytest.mark.parametrize(
    ("plane", "allowed"),
    [
        pytest.param(None, ("web_search", "web_open", "pay"), id="None restricts nothing"),
        pytest.param((), (), id="no pattern allows nothing"),
        pytest.param(("*",), ("web_search", "web_open", "pay"), id="a star allows all"),
        pytest.param(("web_*",), ("web_search", "web_open"), id="a prefix"),
        pytest.param(("pay", "web_search"), ("web_search", "pay"), id="names, in the order of the offer"),
        pytest.param(("PAY", "web"), (), id="case and whole names matter"),
        pytest.param(("nobody",), (), id="no name is introduced"),
    ],
)
@pytest.mark.parametrize("argument", ["tenant", "granted", "callable_now"])
def test_a_plane_lets_through_what_its_patterns_name(
    argument: str, plane: tuple[str, ...] | None, allowed: tuple[str, ...]
) -> None:
    assert narrow(["web_search", "web_open", "pay", "pay"], **{argument: plane}) == allowed


@given(st.lists(names, max_size=8), plane, plane, plane)
def test_narrowing_keeps_order_adds_nothing_and_is_idempotent(
    offered: list[str], tenant: list[str] | None, granted: list[str] | None, now: list[str] | None
) -> None:
    kept = narrow(offered, tenant=tenant, granted=granted, callable_now=now)
    assert kept == tuple(name for name in dict.fromkeys(offered) if name in kept)
    assert narrow(kept, tenant=tenant, granted=granted, callable_now=now) == kept


@given(st.lists(names, max_size=8), plane, st.lists(patterns, max_size=3), patterns)
def test_a_wider_plane_lets_no_less_through(
    offered: list[str], tenant: list[str] | None, granted: list[str], more: str
) -> None:
    kept = narrow(offered, tenant=tenant, granted=granted)
    assert set(kept) <= set(narrow(offered, tenant=tenant, granted=[*granted, more]))
    assert set(kept) <= set(narrow(offered, granted=granted))
