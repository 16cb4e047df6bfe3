"""Whether a recursive schema follows each way into a value once."""

from psych_runtime_core.schema.counting import to_children
from psych_runtime_core.schema.document import Schema
from psych_runtime_core.schema.visits import Spread, Visits
from psych_runtime_core.schema.walk import Applied, Walk

# A circle closed at the same value: what it comes back to may lead to any child.
_ANYWHERE = Visits(1, Spread({}, 1), Spread({}, 1))


def goes_one_way(walked: Walk, applied: Applied) -> bool:
    """Whether no schema leads into one child by two steps that can both come to a circle.

    Where one does, the ways double at each level of the value.
    """
    recursive: set[int] = set()
    ways: dict[int, Visits] = {}
    for schema in walked.order:
        steps = applied(schema)

        def circles(target: Schema, schema: Schema = schema) -> bool:
            return walked.closes(schema, target) or id(target) in recursive

        if any(circles(each.target) for each in steps):
            recursive.add(id(schema))
        here = to_children(steps, circles)
        for each in steps:
            if each.place == "here":
                here += (
                    _ANYWHERE if walked.closes(schema, each.target) else ways.get(id(each.target), Visits())
                )
        if here.most > 1:
            return False
        ways[id(schema)] = here
    return True
