"""What of live text is kept: a pure decision."""

import pytest

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import MAX_CHUNK_BYTES, MAX_LIVE_BYTES, LiveChunk, Room, Tail

RUN = RunId("run_a")
SPOKEN, THOUGHT = (3, False), (3, True)


def chunk(offset: int, length: int, *, epoch: int = 1, text: tuple[int, bool] = SPOKEN) -> LiveChunk:
    return LiveChunk(RUN, "", text[0], epoch, text[1], offset, length, bytes(length))


def tail(start: int, length: int, *, epoch: int = 1, text: tuple[int, bool] = SPOKEN) -> Tail:
    return Tail(text, start, length, start + length, epoch)


@pytest.mark.parametrize(
    ("tails", "offered", "size"),
    [
        pytest.param([], chunk(0, 5), 5, id="a text begins"),
        pytest.param([], chunk(1, 5), None, id="no text begins in its middle"),
        pytest.param([tail(0, 5)], chunk(5, 2), 7, id="it goes on where it ends"),
        pytest.param([tail(0, 5)], chunk(6, 2), None, id="and not behind a gap"),
        pytest.param([tail(0, 5)], chunk(0, 5), None, id="what repeats is not needed"),
        pytest.param([tail(0, 5)], chunk(3, 4), 9, id="what repeats and goes on is"),
        pytest.param([tail(0, 5)], chunk(5, 0), None, id="nothing is no text"),
        pytest.param([tail(0, 5)], chunk(0, 2, text=THOUGHT), 2, id="each text has its own place"),
        pytest.param([tail(0, 5, epoch=2)], chunk(5, 2), None, id="an old epoch adds nothing"),
        pytest.param([tail(0, 5)], chunk(5, 2, epoch=2), None, id="a new epoch begins anew"),
        pytest.param([tail(0, 5)], chunk(0, 2, epoch=2), 2, id="and from the beginning"),
        pytest.param([tail(0, 5), tail(0, 3, epoch=2, text=THOUGHT)], chunk(5, 1), None, id="for all texts"),
    ],
)
def test_a_chunk_is_kept_or_dropped(tails: list[Tail], offered: LiveChunk, size: int | None) -> None:
    assert Room.of(tails, 0, is_over=False).take(offered) == size


@pytest.mark.parametrize(
    ("claims", "is_over", "kept"),
    [
        pytest.param(0, False, True, id="a run that nobody claimed"),
        pytest.param(2, False, True, id="the holder"),
        pytest.param(3, False, False, id="who lost its lease"),
        pytest.param(0, True, False, id="who comes after the end"),
    ],
)
def test_the_run_says_whose_text_it_is(claims: int, is_over: bool, kept: bool) -> None:
    room = Room.of([], claims, is_over=is_over)
    assert (room.take(chunk(0, 1, epoch=2)) is not None) == kept


def test_a_run_has_room_for_eight_mebibytes_over_all_its_texts() -> None:
    full = [Tail(SPOKEN, 0, 9, MAX_LIVE_BYTES - 3, 1), Tail(THOUGHT, 0, 9, 2, 1)]
    room = Room.of(full, 0, is_over=False)
    assert room.take(chunk(9, 2)) is None
    assert room.take(chunk(9, 1)) == MAX_LIVE_BYTES - 2
    assert room.take(chunk(9, 1, text=THOUGHT)) is None
    assert room.take(chunk(0, MAX_CHUNK_BYTES, epoch=2)) == MAX_CHUNK_BYTES


@pytest.mark.parametrize(
    ("tails", "claims", "offered", "has_older"),
    [
        pytest.param([tail(0, 5)], 1, [chunk(5, 1)], False, id="of one epoch"),
        pytest.param([tail(0, 5)], 1, [chunk(0, 1, epoch=2)], True, id="the next one begins"),
        pytest.param([tail(0, 5)], 2, [], True, id="the next one was claimed"),
        pytest.param([], 0, [chunk(0, 1), chunk(0, 1, epoch=2)], True, id="two at once"),
    ],
)
def test_older_text_is_known_to_be_there(
    tails: list[Tail], claims: int, offered: list[LiveChunk], has_older: bool
) -> None:
    room = Room.of(tails, claims, is_over=False)
    for each in offered:
        room.take(each)
    assert room.has_older == has_older
