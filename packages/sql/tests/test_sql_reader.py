"""What of live text a reader takes: a pure decision."""

import pytest

from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import LiveChunk, Tail
from psych_runtime_sql.reader import Reader

RUN = RunId("run_a")
SPOKEN, THOUGHT = (3, False), (3, True)


def chunk(offset: int, length: int, *, epoch: int = 1, text: tuple[int, bool] = SPOKEN) -> LiveChunk:
    return LiveChunk(RUN, "", text[0], epoch, text[1], offset, length, bytes(length))


def tail(start: int, length: int, *, epoch: int = 1, text: tuple[int, bool] = SPOKEN) -> Tail:
    return Tail(text, start, length, start + length, epoch)


def read_to(end: int, *, epoch: int = 1) -> Reader:
    return Reader(RUN, epoch, {SPOKEN: end})


@pytest.mark.parametrize(
    ("reader", "tails", "leads_on", "ends"),
    [
        pytest.param(Reader(RUN), [tail(0, 5)], [SPOKEN], {SPOKEN: 0}, id="a text that is new"),
        pytest.param(read_to(5), [tail(0, 5)], [], {SPOKEN: 5}, id="one that was read"),
        pytest.param(read_to(5), [tail(5, 1)], [SPOKEN], {SPOKEN: 5}, id="one that goes on"),
        pytest.param(read_to(5), [], [], {}, id="one that was cleared"),
        pytest.param(read_to(5, epoch=2), [tail(0, 9)], [], {}, id="one of an older epoch"),
        pytest.param(read_to(5), [tail(0, 3, epoch=2)], [SPOKEN], {SPOKEN: 0}, id="one of a newer epoch"),
        pytest.param(
            read_to(5), [tail(0, 9), tail(0, 3, epoch=2, text=THOUGHT)], [THOUGHT], {THOUGHT: 0}, id="of both"
        ),
    ],
)
def test_a_reader_sees_which_texts_lead_on(
    reader: Reader, tails: list[Tail], leads_on: list[tuple[int, bool]], ends: dict[tuple[int, bool], int]
) -> None:
    assert [each.text for each in reader.look_at(tails)] == leads_on
    assert reader.ends == ends


@pytest.mark.parametrize(
    ("offered", "end"),
    [
        pytest.param(chunk(5, 2), 7, id="where it has read to"),
        pytest.param(chunk(3, 4), 7, id="over that"),
        pytest.param(chunk(3, 2), 5, id="nothing new"),
        pytest.param(chunk(6, 2), 5, id="behind a gap"),
        pytest.param(chunk(5, 2, epoch=2), 5, id="of another epoch"),
    ],
)
def test_a_reader_takes_what_goes_on_where_it_is(offered: LiveChunk, end: int) -> None:
    reader = read_to(5)
    assert reader.takes(offered) == (end > 5)
    assert reader.ends[SPOKEN] == end
