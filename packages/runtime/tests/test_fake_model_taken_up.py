"""A scripted model in a process that takes a Run up: it goes on where another process left the lane."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from packages.runtime.tests.model_calls import context, text
from psych_runtime.testing.fake_model import FakeModel, FakeModelScriptExhausted
from psych_runtime_core.errors import ModelError, ModelErrorKind
from psych_runtime_core.ports.model import ModelCallContext, ModelRequest

Script = Callable[[FakeModel], object]
# A call of a lane: its turn, the failures of that turn before it, and what it gets.
Played = tuple[int, int, str]


def named(_request: ModelRequest, _where: ModelCallContext) -> str:
    return "from a function"


def away(_request: ModelRequest, _where: ModelCallContext) -> str:
    raise ModelError(ModelErrorKind.TRANSIENT, "it is away")


ALONE: dict[str, tuple[Script, list[Played]]] = {
    "answers": (lambda m: m.turn("a").turn("b"), [(1, 0, "a"), (2, 0, "b"), (3, 0, "call 3")]),
    "a failure behind the last answer": (
        lambda m: m.turn("only").raises_transient(),
        [(1, 0, "only"), (2, 0, "transient"), (2, 1, "call 3")],
    ),
    "failures alone": (
        lambda m: m.raises_transient().raises_transient(),
        [(1, 0, "transient"), (1, 1, "transient")],
    ),
    "failures of two turns": (
        lambda m: m.raises_transient().turn("a").rejects_auth().overflows(),
        [(1, 0, "transient"), (1, 1, "a"), (2, 0, "auth"), (2, 1, "context_overflow"), (2, 2, "call 5")],
    ),
    "a function before a failure": (
        lambda m: m.turn(named).raises_transient(),
        [(1, 0, "from a function"), (2, 0, "transient"), (2, 1, "call 3")],
    ),
    "a function that fails": (
        lambda m: m.turn(away).turn("a"),
        [(1, 0, "transient"), (1, 1, "a")],
    ),
    "a failure between answers": (
        lambda m: m.turn("a").raises_transient().turn("b"),
        [(1, 0, "a"), (2, 0, "transient"), (2, 1, "b"), (3, 0, "call 4")],
    ),
    "a failure for ever": (
        lambda m: m.turn("a").raises_transient().repeat(),
        [(1, 0, "a"), (2, 0, "transient"), (2, 1, "transient"), (2, 2, "transient")],
    ),
}
FALLBACKS: dict[str, tuple[Script, list[Played]]] = {
    "asked in the first turn": (lambda m: m.turn("a"), [(1, 1, "a")]),
    "asked in a later turn": (lambda m: m.turn("a"), [(3, 1, "a")]),
    "a function, in the first turn": (lambda m: m.turn(named), [(1, 1, "from a function")]),
    "a function, in a later turn": (lambda m: m.turn(named), [(2, 1, "from a function")]),
    "that fails as often as the first model": (
        lambda m: m.raises_transient(),
        [(1, 1, "transient")],
    ),
    "asked after more failures than it has": (lambda m: m.turn("a").raises_transient(), [(2, 2, "a")]),
    "asked after more answers than it has": (lambda m: m.turn("a").raises_transient(), [(3, 1, "a")]),
    "of a model that never answers": (
        lambda m: m.turn("a").turn("b").turn("c"),
        [(1, 1, "a"), (2, 1, "b"), (3, 2, "c")],
    ),
    "of such a model, for ever": (
        lambda m: m.turn("a").turn("b").repeat(),
        [(1, 1, "a"), (2, 1, "b"), (3, 1, "b"), (4, 2, "b")],
    ),
}


@pytest.mark.parametrize(
    ("script", "played"), [*ALONE.values(), *FALLBACKS.values()], ids=[*ALONE, *FALLBACKS]
)
async def test_each_process_gives_what_one_alone_would_give(script: Script, played: list[Played]) -> None:
    for taken_up in range(len(played)):
        model = FakeModel(play="per_lane")
        script(model)
        for turn, failures, given in played[taken_up:]:
            assert await outcome(model, context(turn=turn, failures=failures)) == given, taken_up


async def outcome(model: FakeModel, where: ModelCallContext) -> str:
    """The text of an answer, the kind of an error, or the number of a call past the end."""
    try:
        return await text(model, where)
    except ModelError as error:
        return error.kind
    except FakeModelScriptExhausted as error:
        return f"call {error.call_number}"


@pytest.mark.parametrize(
    ("turn", "failures", "said"),
    [
        pytest.param(1, 0, "first", id="nobody has played"),
        pytest.param(2, 0, "second", id="an answer was played"),
        pytest.param(3, 2, "third", id="an answer before each turn, and the failures of this one"),
        pytest.param(4, 0, "fourth", id="the failures of the turns before were played too"),
        pytest.param(9, 0, "fourth", id="the last entry repeats"),
    ],
)
async def test_per_lane_a_lane_goes_on_where_another_process_left_it(
    turn: int, failures: int, said: str
) -> None:
    def scripted() -> FakeModel:
        model = FakeModel(play="per_lane").turn("first").turn(lambda _request, _where: "second")
        return model.raises_transient().stalls().turn("third").turn("fourth").repeat()

    model = scripted()
    assert await text(model, context(turn=turn, failures=failures)) == said
    assert await text(model, context(turn=turn, failures=failures)) == said
    assert await text(model, context("another run")) == "first"
