"""All that is known of a schema without any value: what it applies, by which steps, and what each weighs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from psych_runtime_core.jsonvalue import encode_json
from psych_runtime_core.schema.alternatives import groups, tag_of
from psych_runtime_core.schema.applied import Application, applications
from psych_runtime_core.schema.counting import Groups, Own
from psych_runtime_core.schema.document import Document
from psych_runtime_core.schema.reading import Readings
from psych_runtime_core.schema.walk import Applied, walk
from psych_runtime_core.schema.weight import Unit, weights

# What errors say of the schema: of other keywords they name a value that is no longer.
_REPEATED = frozenset({"const", "enum", "not", "pattern", "required", "dependentRequired"})


class Survey:
    """Raises `ValueError` for a schema whose references lead back to their own place."""

    def __init__(self, root: Mapping[str, Any], readings: Readings) -> None:
        self._document = Document(root)
        self.readings = readings
        self._known: dict[int, list[Application]] = {}
        self.whole = walk([root], self.applied)
        self.here = only(self.applied, lambda each: each.place in ("here", "branch"))
        self.still = walk(self.whole.order, self.here)
        if self.still.closing:
            raise ValueError("a reference leads back to its own place: let it go into the value first")

    def applied(self, schema: Mapping[str, Any]) -> Sequence[Application]:
        """What `schema` applies."""
        if id(schema) not in self._known:
            self._known[id(schema)] = list(applications(self._document, schema))
        return self._known[id(schema)]

    def groups(self, *, tagged: bool) -> Groups:
        """Which branches are entered together."""
        return partial(groups, self._document, tagged=tagged)

    @cached_property
    def tags(self) -> frozenset[str]:
        """The members that tell branches apart."""
        branches = (
            schema[keyword]
            for schema in self.whole.order
            for keyword in ("anyOf", "oneOf")
            if keyword in schema
        )
        return frozenset(tag for each in branches if (tag := tag_of(self._document, each)) is not None)

    @cached_property
    def longest(self) -> int:
        """The bytes of the longest piece that an error may repeat."""
        pieces = (
            schema[keyword] for schema in self.whole.order for keyword in sorted(schema.keys() & _REPEATED)
        )
        return max((len(encode_json(piece)) for piece in pieces), default=0)

    @property
    def units(self) -> Iterable[Unit]:
        """What anything weighs for."""
        return self._weights.keys()

    def weighing(self, unit: Unit) -> int:
        """How many schemas weigh anything for `unit`."""
        return len(self._weights.get(unit, ()))

    def own(self, unit: Unit) -> Own:
        """What each schema weighs for `unit`."""
        found = self._weights.get(unit, {})
        return lambda schema: found.get(id(schema), 0)

    @cached_property
    def _weights(self) -> Mapping[Unit, Mapping[int, int]]:
        found: dict[Unit, dict[int, int]] = {}
        for schema in self.whole.order:
            for unit, weight in weights(schema, self.readings).items():
                found.setdefault(unit, {})[id(schema)] = weight
        return found


def only(applied: Applied, wanted: Callable[[Application], bool]) -> Applied:
    """The steps that are `wanted`."""
    return lambda schema: [each for each in applied(schema) if wanted(each)]
