"""Counting visits, along every way that a schema leads through a value."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from typing import TypeAlias

from psych_runtime_core.schema.applied import Application
from psych_runtime_core.schema.document import Schema
from psych_runtime_core.schema.visits import Spread, Visits
from psych_runtime_core.schema.walk import Applied, Walk

Groups: TypeAlias = Callable[[Sequence[Schema]], Iterable[tuple[str, Sequence[int]]]]
"""Of several branches those, by index, that are entered together for one value, and its type."""
Own: TypeAlias = Callable[[Schema], int]
"""What one visit by a schema counts, but for those it leads to."""
_NONE = Visits()


class Counted:
    """The visits that one visit to each schema of a walk leads to, each as its `own` count.

    A step that closes a circle counts as `closing`: what it comes back to is counted by itself.
    """

    def __init__(self, walked: Walk, applied: Applied, groups: Groups, own: Own, *, closing: int = 1) -> None:
        self._walked = walked
        self._groups = groups
        self._own = own
        self._closing = Visits(closing)
        self._visits: dict[int, Visits] = {}
        # The judge visits every part once more for what `unevaluated…` has to leave out.
        self._marks: dict[int, Visits] = {}
        for schema in walked.order:
            if applications := applied(schema):
                self._count(schema, applications)

    @property
    def most(self) -> int:
        """Visits to the place that is visited most."""
        return max((visits.most for visits in self._visits.values()), default=self._own(self._root))

    @property
    def total(self) -> int:
        """The same by way of all that is entered anew: the root, and whatever a circle comes back to."""
        entered = {target for _, target in self._walked.closing} | {id(self._root)}
        return sum(self._visits[each].most for each in entered) if self._visits else self._own(self._root)

    @property
    def _root(self) -> Schema:
        return self._walked.order[-1]

    def _count(self, schema: Schema, applied: Sequence[Application]) -> None:
        def into(target: Schema) -> Visits:
            if self._walked.closes(schema, target):
                return self._closing
            return self._visits.get(id(target)) or _alone(self._own(target))

        parts = [each.target for each in applied if each.place in ("here", "name")]
        visits = sum(
            map(into, parts),
            _alone(self._own(schema)) + to_children(applied, lambda target: into(target).most),
        )
        for branches in _branches(applied):
            looked_at = _alone(self._own(True) * len(branches))
            entered = (
                sum((into(branches[index]).by(kind) for index in group), _NONE)
                for kind, group in self._groups(branches)
            )
            visits += reduce(Visits.__or__, entered, looked_at)
            parts += branches
        marks = sum((into(part) + self._marks.get(id(part), _NONE) for part in parts), _NONE)
        marked = any(each.keyword.startswith("unevaluated") for each in applied)
        self._visits[id(schema)] = visits + marks if marked else visits
        self._marks[id(schema)] = marks


@lru_cache(maxsize=1_024)
def _alone(count: int) -> Visits:
    return Visits(count)


def to_children(applied: Sequence[Application], weight: Callable[[Schema], int]) -> Visits:
    """Visits to the children of a value, where each schema that is applied to one counts as its weight."""
    sums: dict[str, int] = {}
    for each in applied:
        sums[each.place] = sums.get(each.place, 0) + weight(each.target)

    def spread(kind: str, kinds: str) -> Spread:
        every = sums.get(f"each {kind}", 0)
        named = {each.name: weight(each.target) + every for each in applied if each.place == kind}
        return Spread(named, sums.get(f"other {kinds}", 0) + every)

    if sums.keys() <= {"branch", "here", "name"}:
        return _NONE
    return Visits(0, spread("member", "members"), spread("item", "items"))


def _branches(applied: Sequence[Application]) -> list[list[Schema]]:
    several: dict[str, list[Schema]] = {}
    for each in applied:
        if each.place == "branch":
            several.setdefault(each.keyword, []).append(each.target)
    return list(several.values())
