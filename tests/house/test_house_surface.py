"""The public module names every type that a user can come to hold, and says what each is for."""

import enum
import importlib
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Generic, NewType, Protocol, TypeVar

import pytest
from pydantic import BaseModel

import psych_runtime
from tests.house.checkout import adapters
from tests.house.surface import Path, reachable

NAMES: list[str] = sorted(vars(psych_runtime)["__all__"])
EVERY_NAME = pytest.mark.parametrize("name", NAMES)

# What stores, tools and the public calls hand each other inside; no program names them.
INTERNAL = {
    "ArgumentsReader",
    "Callee",
    "Job",
    "Listed",
    "PermitClaim",
    "Permits",
    "ProbeCallee",
    "Raised",
    "Returned",
    "Selectors",
    "Sent",
    "ToolThreads",
}


def test_no_name_is_listed_twice() -> None:
    assert len(set(NAMES)) == len(NAMES)


@EVERY_NAME
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(psych_runtime, name) is not None


@EVERY_NAME
def test_a_public_class_or_function_says_what_it_is_for(name: str) -> None:
    value = getattr(psych_runtime, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        written = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        assert written
        assert not written.startswith(f"{name}("), "that is what dataclass writes by itself"


def test_every_type_a_user_can_hold_is_nameable() -> None:
    exported = {name: getattr(psych_runtime, name) for name in NAMES}
    doors = [importlib.import_module(f"psych_runtime.store.{adapter.folder}") for adapter in adapters()]
    behind_doors = {name: getattr(door, name) for door in doors for name in door.__all__}
    nameable = {id(value) for value in (*exported.values(), *behind_doors.values())}

    found = reachable({**exported, **behind_doors}, is_ours)

    held = {cls: path for cls, path in found.items() if not is_private_base(cls, path)}
    hidden = {cls: path for cls, path in held.items() if id(origin(cls)) not in nameable}
    told = {cls.__qualname__: f"{' -> '.join(path)}: {cls.__module__}" for cls, path in hidden.items()}
    assert not {name: path for name, path in told.items() if name not in INTERNAL}
    assert not INTERNAL - told.keys(), "nobody comes to hold these any more"


def is_ours(cls: type) -> bool:
    """Whether a class lives in one of our packages."""
    return cls.__module__.partition(".")[0].startswith("psych_runtime")


def is_private_base(cls: type, path: Path) -> bool:
    """Whether a class is only there for others to inherit from."""
    return path[-1] == "base" and cls.__name__.startswith("_")


def origin(cls: type) -> type:
    """The class itself, of a pydantic model with its parameters filled in."""
    return getattr(cls, "__pydantic_generic_metadata__", {}).get("origin") or cls


# --- the walk itself -------------------------------------------------------------------------------


class Hidden:
    """What each of those below leads to by another kind of edge."""


T = TypeVar("T")
Bound = TypeVar("Bound", bound=Hidden)
Alias = NewType("Alias", Hidden)


class Inherits(Hidden):
    pass


class Model(BaseModel, arbitrary_types_allowed=True):
    field: list[Hidden | None]


@dataclass
class Record:
    field: dict[str, Annotated[Hidden, "a note"]]


class Port(Protocol):
    async def ask(self, *, question: Hidden) -> None: ...


class Method:
    def __init__(self) -> None: ...

    @classmethod
    def build(cls) -> tuple[Hidden, ...]:
        return ()

    @property
    def plain(self) -> int:
        return 0


class Property:
    @property
    def value(self) -> "Hidden":
        return Hidden()


class Failure(Exception):
    def __init__(self, cause_of_it: Hidden) -> None:
        super().__init__(cause_of_it)


class Kind(enum.Enum):
    ONE = 1


class Box(Generic[T]):
    pass


class Filled(Box[Hidden]):
    pass


def takes(callback: Callable[[Hidden], Awaitable[None]]) -> None: ...


def takes_bound(value: Bound) -> Bound:
    return value


def takes_alias(value: Alias) -> None: ...


def gives() -> type[Hidden]:
    return Hidden


@pytest.mark.parametrize(
    "start",
    [
        Inherits,
        Model,
        Record,
        Port,
        Method,
        Property,
        Failure,
        Filled,
        takes,
        takes_bound,
        takes_alias,
        gives,
    ],
)
def test_the_walk_finds_a_type_behind_every_kind_of_edge(start: object) -> None:
    assert Hidden in reachable({"start": start}, lambda cls: cls.__module__ == __name__)


def test_the_walk_finds_no_more_than_there_is() -> None:
    assert Hidden not in reachable({"Kind": Kind, "Box": Box}, lambda cls: cls.__module__ == __name__)
