"""Which texts of a value the patterns of a schema read: those under the names that lead to them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from psych_runtime_core.jsonvalue import Json
from psych_runtime_core.schema.cost import weighed
from psych_runtime_core.schema.document import Schema
from psych_runtime_core.schema.survey import Survey

# Any name.
_ANY = None
_Names = frozenset[str | None]
_ROOT: _Names = frozenset({""})
# Schemas times names: more are not told apart.
_MAX_COUNTED = 20_000


def reading(survey: Survey, value: Json, *, tagged: bool) -> int:
    """The visits that it takes at most to read the strings and names of `value` by patterns."""
    own = survey.own("text")
    reached = _reached(survey)
    read = frozenset[str | None]().union(*(reached[id(each)] for each in survey.whole.order if own(each)))
    texts = _texts(value)
    if len(read) * len(survey.whole.order) > _MAX_COUNTED:
        return weighed(survey, own, tagged=tagged) * texts.total()

    def under(name: str | None) -> int:
        def counted(schema: Schema) -> int:
            names = reached.get(id(schema), _ROOT)
            return own(schema) if name in names or _ANY in names else 0

        return weighed(survey, counted, tagged=tagged)

    others = sum(size for name, size in texts.items() if name not in read)
    return others * under(_ANY) + sum(texts[name] * under(name) for name in read if name is not None)


def _reached(survey: Survey) -> Mapping[int, _Names]:
    """The names of the members below which each schema is applied; an item has that of its list."""
    reached: dict[int, _Names] = {id(survey.whole.order[-1]): _ROOT}
    changed: list[Mapping[str, Any]] = [survey.whole.order[-1]]
    while changed:
        schema = changed.pop()
        for each in survey.applied(schema):
            if isinstance(each.target, bool):
                continue
            before = reached.get(id(each.target), frozenset())
            names = before | _names(each.place, each.name, reached[id(schema)])
            if names != before:
                reached[id(each.target)] = names
                changed.append(each.target)
    return reached


def _names(place: str, name: str | int, around: _Names) -> _Names:
    if place == "member":
        return frozenset({str(name)})
    return frozenset({_ANY}) if place in ("each member", "other members") else around


def _texts(value: Json) -> Counter[str]:
    """The bytes of text under each name: of strings, and of the names of an object's members."""
    found: Counter[str] = Counter()
    left: list[tuple[str, Json]] = [("", value)]
    while left:
        name, held = left.pop()
        if isinstance(held, str):
            found[name] += len(held.encode())
        elif isinstance(held, Mapping):
            found[name] += sum(len(each.encode()) for each in held)
            left.extend(held.items())
        elif isinstance(held, list):
            left.extend((name, item) for item in held)
    return found
