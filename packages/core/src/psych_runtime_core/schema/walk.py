"""The order in which references close circles."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from psych_runtime_core.schema.applied import Application
from psych_runtime_core.schema.document import Schema

Applied: TypeAlias = Callable[[Mapping[str, Any]], Sequence[Application]]


@dataclass(slots=True)
class Walk:
    """Each schema that is reached, after all that it reaches; but steps that close a circle go back."""

    order: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    closing: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def closes(self, schema: Schema, target: Schema) -> bool:
        """Whether the step from `schema` to `target` comes back to where the way to `schema` led through."""
        return (id(schema), id(target)) in self.closing


def walk(starts: Sequence[Mapping[str, Any]], applied: Applied) -> Walk:
    """Go depth first; without recursion, since a chain of references may be longer than the stack."""
    walked = Walk()
    seen: set[int] = set()
    for start in starts:
        if id(start) not in seen:
            _go(start, applied, walked, seen)
    return walked


def _go(start: Mapping[str, Any], applied: Applied, walked: Walk, seen: set[int]) -> None:
    open_: dict[int, Iterator[Application]] = {id(start): iter(applied(start))}
    way = [start]
    seen.add(id(start))
    while way:
        schema = way[-1]
        for each in open_[id(schema)]:
            target = each.target
            if id(target) in open_:
                walked.closing.add((id(schema), id(target)))
            elif isinstance(target, Mapping) and id(target) not in seen:
                seen.add(id(target))
                open_[id(target)] = iter(applied(target))
                way.append(target)
                break
        else:
            walked.order.append(way.pop())
            del open_[id(schema)]
