"""The packets in which the same bytes may arrive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from psych_runtime.testing.http_stub import Piece, Raw, Reply
from psych_runtime_contract.model.cases import Cuts

# Of a stream that is not cut at every boundary, so many boundaries and random cuts are tried. In single bytes
# goes what is short; no reply is cut into more pieces than this.
BOUNDARIES = 12
RANDOM_CUTS = 3
MOST_PIECES = 2_500


def replies(reply: Reply | Raw, cuts: Cuts, seed: str) -> Iterator[tuple[str, Reply | Raw]]:
    """`reply` in each way to cut it, with a name that says which. Equal seeds give equal cuts."""
    pieces = _pieces(reply)
    size = sum(len(piece) for piece in pieces if isinstance(piece, bytes))
    yield "whole", reply
    for name, places in _places(size, cuts, Random(seed)):
        yield name, _cut(reply, pieces, places)


def _pieces(reply: Reply | Raw) -> Sequence[Piece]:
    return reply.chunks or (() if isinstance(reply, Raw) else (reply.body,))


def _places(size: int, cuts: Cuts, random: Random) -> Iterator[tuple[str, Sequence[int]]]:
    for step in (1, 7, 4_096):
        if step < size <= step * MOST_PIECES:
            yield f"every {step} bytes", range(step, size, step)
    if cuts == "few" or size < 2:
        return
    inner = range(1, size)
    boundaries = inner if cuts == "every" else sorted(random.sample(inner, min(BOUNDARIES, len(inner))))
    for place in boundaries:
        yield f"at byte {place}", (place,)
    for number in range(RANDOM_CUTS):
        places = sorted(random.sample(inner, min(len(inner), random.randint(2, 40))))
        yield f"at random, {number}", places


def _cut(reply: Reply | Raw, pieces: Sequence[Piece], places: Sequence[int]) -> Reply | Raw:
    cut = tuple(_cut_pieces(pieces, places))
    return replace(reply, chunks=cut) if isinstance(reply, Raw) else replace(reply, chunks=cut, body=b"")


def _cut_pieces(pieces: Sequence[Piece], places: Sequence[int]) -> Iterator[Piece]:
    """`pieces`, their bytes split at `places`, which count over all of them; gates stay where they are."""
    begin, ahead = 0, iter([*places, -1])
    place = next(ahead)
    for piece in pieces:
        if not isinstance(piece, bytes):
            yield piece
            continue
        start = 0
        while begin + start < place < begin + len(piece):
            yield piece[start : place - begin]
            start, place = place - begin, next(ahead)
        if begin + len(piece) == place:
            place = next(ahead)
        yield piece[start:]
        begin += len(piece)
