"""Which row of genai-prices an id means. Imports that package, and so is itself imported on first use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from genai_prices import types

from psych_runtime.model.prices.ids import ids_of, vendor_of

# Ids come out of Specs, so there may be any number of them.
_REMEMBERED = 1_024


@dataclass(frozen=True, slots=True)
class Row:
    """A row as one provider sells it. `own` is false for a model that it sells at its maker's prices."""

    model: types.ModelInfo
    own: bool


class GenaiCatalog:
    """The rows of every provider under whole ids, and the providers by name and by URL."""

    def __init__(self, providers: Sequence[types.Provider]) -> None:
        self._providers = providers
        self._named = _named(providers)
        self._own = {provider.id: _rows(provider) for provider in providers}
        self.row = lru_cache(maxsize=_REMEMBERED)(self._row)

    @property
    def names(self) -> Sequence[str]:
        """The providers, by id."""
        return tuple(self._own)

    def knows(self, provider: str) -> bool:
        """Whether there is a provider of this name, or at this URL."""
        return self._provider(provider) is not None

    def _row(self, model: str, provider: str | None) -> Row | None:
        """The row of a model: at this provider, else at the one that its id names or that claims the id."""
        vendor, _ = vendor_of(model)
        named = self._named.get(vendor)
        seller = self._provider(provider) if provider else named or self._claimant(model)
        if seller is None:
            return None
        ids = ((each, vendor_of(each)[1]) if seller is named else (each,) for each in ids_of(model))
        return next((row for alike in ids for each in alike for row in self._sold(seller, each)), None)

    def _sold(self, seller: types.Provider, model: str) -> Iterator[Row]:
        if model in self._own[seller.id]:
            yield Row(self._own[seller.id][model], own=True)
        # A rule of the seller's that looks for a part of the id means another row: then nobody knows.
        elif seller.fallback_model_providers and seller.find_model(model) is None:
            for maker in seller.fallback_model_providers:
                if model in self._own.get(maker, {}):
                    yield Row(self._own[maker][model], own=False)

    def _provider(self, name: str) -> types.Provider | None:
        """By its name, else by the URL or the host it is reached at."""
        name = name.lower()
        if name in self._named or not {".", ":"} & {*name}:
            return self._named.get(name)
        url = name if "://" in name else f"https://{name}"
        return next((each for each in self._providers if _reaches(each.api_pattern, url)), None)

    def _claimant(self, model: str) -> types.Provider | None:
        name = model.lower()
        rules = ((each, each.model_match) for each in self._providers)
        return next((each for each, rule in rules if rule is not None and rule.is_match(name)), None)


def _named(providers: Sequence[types.Provider]) -> dict[str, types.Provider]:
    """Providers by id, and by the words of their rules; of two with one word, the first."""
    named = {provider.id.lower(): provider for provider in providers}
    for provider in providers:
        for word in _words(provider.provider_match) if provider.provider_match else ():
            named.setdefault(word, provider)
    return named


def _words(rule: types.MatchLogic) -> Iterator[str]:
    if isinstance(rule, types.ClauseOr):
        for part in rule.or_:
            yield from _words(part)
    elif isinstance(rule, types.ClauseContains):
        yield rule.contains.lower()
    else:
        yield from _literals(rule)


def _rows(provider: types.Provider) -> dict[str, types.ModelInfo]:
    """The rows of a provider by id, then by the other ids that their rules write out."""
    rows: dict[str, types.ModelInfo] = {}
    for model in provider.models:
        rows.setdefault(model.id.lower(), model)
    for model in provider.models:
        for literal in _literals(model.match):
            # In an "and", a text that one part writes out may be refused by another.
            if model.is_match(literal):
                rows.setdefault(literal, model)
    return rows


def _literals(rule: types.MatchLogic) -> Iterator[str]:
    """What a rule writes out as a whole id or as the beginning of one."""
    if isinstance(rule, types.ClauseEquals):
        yield rule.equals.lower()
    elif isinstance(rule, types.ClauseStartsWith):
        yield rule.starts_with.lower()
    elif isinstance(rule, types.ClauseOr):
        for part in rule.or_:
            yield from _literals(part)
    elif isinstance(rule, types.ClauseAnd):
        for part in rule.and_:
            yield from _literals(part)


def _reaches(pattern: str, url: str) -> bool:
    """Whether a provider's pattern fits a URL up to the end of a host or of a part of a path.

    Patterns are open at their end, and `https://api.acme.com.evil.example` is not at acme. One ends within a
    host on purpose, with a dot.
    """
    found = re.match(pattern, url)
    return found is not None and (
        found.end() == len(url) or url[found.end()] in "/:?#" or found[0][-1:] in "/."
    )
