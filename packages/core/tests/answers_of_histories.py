"""What the engine answers along some histories, as text: equal wherever and whenever it is asked."""

from __future__ import annotations

from collections.abc import Iterator

from packages.core.tests.plans import HASH, plan
from packages.core.tests.pump import Pump
from packages.core.tests.tape import Tape
from packages.core.tests.world import World
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.state.fold import apply, empty

HISTORIES = 12


def answers() -> Iterator[str]:
    """One line for each prefix of each history."""
    for seed in range(HISTORIES):
        tape = Tape(bytes((seed * 37 + n * n * 11 + n) & 255 for n in range(600)))
        pump = Pump(World(tape, plan("b")))
        pump.run()
        state = empty(pump.log[0].run_id)
        for record in pump.log:
            apply(state, record)
            yield f"{seed}:{record.seq} {next_effects({HASH: pump.plan}, state, record.at)!r}"
