"""What a call used, out of the figures of every provider."""

from __future__ import annotations

from dataclasses import dataclass

from psych_runtime.model.numbers import count_of
from psych_runtime.model.shapes import Object, members
from psych_runtime_core.jsonvalue import EMPTY_OBJECT
from psych_runtime_core.usage import Usage


def usage_of(figures: object) -> Usage | None:
    """The usage that `figures` state; None when they lack the prompt or the completion, or all are zero."""
    stated = members(figures)
    if not stated:
        return None
    prompt, inside_by_name = _prompt(stated)
    completion = _first(_count(stated, "completion_tokens"), _count(stated, "output_tokens"))
    if prompt is None or completion is None:
        return None
    cache = _cache(stated)
    into, out = _details(stated, "prompt", "input"), _details(stated, "completion", "output")
    sums = _Sums(
        prompt=prompt,
        completion=completion,
        total=_count(stated, "total_tokens"),
        cache=cache.size,
        inside=cache.size if inside_by_name else cache.detailed,
        reasoning=_largest(_count(out, "reasoning_tokens"), _count(stated, "reasoning_tokens")),
    )
    usage = Usage(
        input=max(prompt - sums.cache_inside, 0),
        output=completion + sums.beyond,
        cache_read=cache.read,
        cache_write=cache.write,
        cache_write_1h=cache.write_1h,
        reasoning=sums.thought,
        input_audio=_count(into, "audio_tokens"),
        output_audio=_count(out, "audio_tokens"),
    )
    return usage if usage.total else None


def usage_in(chunk: Object, choice: Object) -> Usage | None:
    """The usage in a chunk or in its first choice, wherever providers put it."""
    places = (chunk.get("usage"), members(chunk.get("x_groq")).get("usage"), choice.get("usage"))
    return next(filter(None, map(usage_of, places)), None)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Which figures lie within which others. `inside` is what of the cache the prompt holds by its names."""

    prompt: int
    completion: int
    total: int | None
    cache: int
    inside: int
    reasoning: int | None

    @property
    def cache_inside(self) -> int:
        """How much of the prompt was read from the cache or written to it.

        None of it, where the total adds the cache to the prompt, or the prompt is too small to hold it.
        """
        apart = self.prompt + self.completion + self.cache
        excluded = self.total in (apart, apart + (self.reasoning or 0)) or self.inside > self.prompt
        return 0 if excluded else self.inside

    @property
    def beyond(self) -> int:
        """How much was written beside the completion: what the total holds beyond the other parts.

        Where no total says so, it is the reasoning, if the completion is too small to hold that.
        """
        named = self.prompt + self.completion
        if self.total is None or self.total < named:
            thought = self.reasoning or 0
            return thought if thought > self.completion else 0
        return max(self.total - named - (self.cache - self.cache_inside), 0)

    @property
    def thought(self) -> int | None:
        """The reasoning, where it can lie within all that was written."""
        thought = _largest(self.reasoning, self.beyond or None)
        return thought if thought is None or thought <= self.completion + self.beyond else None


@dataclass(frozen=True, slots=True)
class _Cache:
    """Prompt tokens read from a cache and written to one; `detailed` are those named among its details."""

    read: int | None
    write: int | None
    write_1h: int | None
    detailed: int

    @property
    def size(self) -> int:
        return (self.read or 0) + (self.write or 0)


def _cache(stated: Object) -> _Cache:
    """Each figure as the largest that any of its names gives: providers put zeros beside the true one."""
    into, made = _details(stated, "prompt", "input"), members(stated.get("cache_creation"))
    read, write = _count(into, "cached_tokens"), _count(into, "cache_write_tokens")
    hit, outer = _count(stated, "prompt_cache_hit_tokens"), _count(stated, "cache_read_input_tokens")
    hour, short = _count(made, "ephemeral_1h_input_tokens"), _count(made, "ephemeral_5m_input_tokens")
    both = None if hour is None and short is None else (hour or 0) + (short or 0)
    return _Cache(
        read=_largest(read, hit, outer),
        write=_largest(write, both, _count(stated, "cache_creation_input_tokens")),
        write_1h=hour,
        detailed=(read or 0) + (write or 0),
    )


def _prompt(stated: Object) -> tuple[int | None, bool]:
    """The prompt, and whether cached tokens lie in it wherever they are named."""
    hit, miss = _count(stated, "prompt_cache_hit_tokens"), _count(stated, "prompt_cache_miss_tokens")
    split = None if hit is None or miss is None else hit + miss
    prompt = _first(split, _count(stated, "prompt_tokens"))
    return _first(prompt, _count(stated, "input_tokens")), bool(prompt)


def _details(stated: Object, *names: str) -> Object:
    return next(filter(None, (members(stated.get(f"{name}_tokens_details")) for name in names)), EMPTY_OBJECT)


def _count(holder: Object, key: str) -> int | None:
    return count_of(holder.get(key))


def _first(*counts: int | None) -> int | None:
    """The first that is more than zero, else zero if any is known."""
    return next(filter(None, counts), _largest(*counts))


def _largest(*counts: int | None) -> int | None:
    return max((count for count in counts if count is not None), default=None)
