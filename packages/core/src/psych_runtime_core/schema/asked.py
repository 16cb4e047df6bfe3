"""What each schema of a survey asks of the value that it is applied to: worked out once, for all values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from psych_runtime_core.schema.applied import Application
from psych_runtime_core.schema.reading import Reading
from psych_runtime_core.schema.survey import Survey
from psych_runtime_core.schema.weight import Unit, looks_inside, of_names, of_texts, weights

Kind: TypeAlias = Literal["member", "item"]
Identity: TypeAlias = int
"""Of a schema."""


@dataclass(slots=True)
class Lead:
    """What a schema applies to the children of a value: to those named, to others, and to each."""

    named: dict[str | int, list[Identity]] = field(default_factory=dict[str | int, list[Identity]])
    other: list[Identity] = field(default_factory=list[Identity])
    every: list[Identity] = field(default_factory=list[Identity])

    def to(self, name: str | int | None) -> Sequence[Identity]:
        """What is applied to the child of that name, or to one that is not named."""
        return self.every + (self.other if name is None else self.named.get(name, self.other))


@dataclass(frozen=True, slots=True)
class Asked:
    """What one schema asks."""

    weights: Mapping[Unit, int]
    inside: Mapping[Unit, int]
    """The weights by all that the value holds, not by itself alone."""
    texts: Reading
    names: Reading
    here: Sequence[Identity]
    """The schemas that are applied to the same value."""
    naming: Sequence[Identity]
    """Those that are applied to the names of its members."""
    leads: Mapping[Kind, Lead]
    """Those that are applied to its children, if there are any."""
    is_marking: bool
    """Whether what is left out of `unevaluated…` is asked for once more."""


class Asking:
    """What the schemas of a survey ask, one by one, by their identity."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._schemas = {id(schema): schema for schema in survey.whole.order}
        self._known: dict[Identity, Asked] = {}
        self.root: Identity = id(survey.whole.order[-1])
        # Each comes before all that it leads to at the same value.
        self.rank = {id(schema): -index for index, schema in enumerate(survey.still.order)}

    def of(self, identity: Identity) -> Asked:
        """What that schema asks."""
        if identity not in self._known:
            self._known[identity] = self._asked(self._schemas[identity])
        return self._known[identity]

    def _asked(self, schema: Mapping[str, Any]) -> Asked:
        applied = self._survey.applied(schema)
        own = weights(schema, self._survey.readings)
        leads: dict[Kind, Lead] = {"member": _lead(applied, "member"), "item": _lead(applied, "item")}
        return Asked(
            weights=own,
            inside=own if looks_inside(schema) else {},
            texts=of_texts(schema.get("pattern"), self._survey.readings),
            names=of_names(schema.get("patternProperties"), self._survey.readings),
            here=_targets(each for each in applied if each.place in ("here", "branch")),
            naming=_targets(each for each in applied if each.place == "name"),
            leads={kind: lead for kind, lead in leads.items() if lead != Lead()},
            is_marking=any(each.keyword.startswith("unevaluated") for each in applied),
        )


def _lead(applied: Iterable[Application], kind: Kind) -> Lead:
    lead = Lead()
    for each in applied:
        if each.place == kind:
            lead.named.setdefault(each.name, []).extend(_targets([each]))
        elif each.place == f"other {kind}s":
            lead.other.extend(_targets([each]))
        elif each.place == f"each {kind}":
            lead.every.extend(_targets([each]))
    return lead


def _targets(applied: Iterable[Application]) -> list[Identity]:
    return [id(each.target) for each in applied if not isinstance(each.target, bool)]
