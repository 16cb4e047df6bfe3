"""What must not grow with a log: a record, a decision, a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

from benchmarks.agents import AGENT
from benchmarks.figure import Figure, at_most
from benchmarks.logs import RECORDS_A_TURN, LongLog, long_log, turns_for
from benchmarks.setting import Setting
from psych_runtime import Record, RunStateView, Version, VersionHash
from psych_runtime_core.engine.conversation import Conversation
from psych_runtime_core.engine.decide import next_effects
from psych_runtime_core.engine.plan import Plan
from psych_runtime_core.state.fold import apply, fold, rewind, stage

TURNS_TIMED = 20
CALLS_TIMED = 1_000


def measure(setting: Setting) -> Iterator[Figure]:
    yield from records(setting)
    yield decisions(setting)
    yield prompts(setting)


# --- a record ----------------------------------------------------------------------------------------


def records(setting: Setting) -> Iterator[Figure]:
    late, early = turns_for(setting.size(10_000)), turns_for(setting.size(100))
    log = long_log(late + TURNS_TIMED)
    names = f"record {RECORDS_A_TURN * late} / at {RECORDS_A_TURN * early}"

    def apply_at(turn: int) -> Callable[[], float]:
        return lambda: 1e6 * applied(log, turn)[0]

    yield Figure(
        f"check and apply at {names}", "µs", *setting.alternate(apply_at(late), apply_at(early)), at_most(1.2)
    )
    writes = [float(applied(log, turn)[1]) for turn in (late, early)]
    yield Figure(f"table writes at {names}", "writes", writes[:1], writes[1:], at_most(1.2))
    pairs = [staged(log, late) for _ in range(setting.rounds)]
    yield Figure(
        "stage and rewind / apply",
        "µs",
        [1e6 * ours for ours, _ in pairs],
        [1e6 * against for _, against in pairs],
        at_most(2),
    )


def applied(log: LongLog, turn: int) -> tuple[float, int]:
    """Seconds and table writes a record takes behind this many turns."""
    state, coming = split(log, turn)
    writes = state.undo.writes
    begun = process_time()
    for record in coming:
        apply(state, record)
    return (process_time() - begun) / len(coming), state.undo.writes - writes


def staged(log: LongLog, turn: int) -> tuple[float, float]:
    """Seconds to stage and take back a record, and to apply one, turn by turn over the same records."""
    state, coming = split(log, turn)
    tried = kept = 0.0
    for at in range(0, len(coming), RECORDS_A_TURN):
        records = coming[at : at + RECORDS_A_TURN]
        begun = process_time()
        for record in records:
            stage(state, record)
        rewind(state)
        staged_at = process_time()
        for record in records:
            apply(state, record)
        tried += staged_at - begun
        kept += process_time() - staged_at
    return tried / len(coming), kept / len(coming)


def split(log: LongLog, turn: int) -> tuple[RunStateView, tuple[Record, ...]]:
    """The state behind this many turns, and the records of those that come next."""
    at = 2 + RECORDS_A_TURN * turn
    return (
        fold(log.records[:at], run_id=log.run_id),
        log.records[at : at + RECORDS_A_TURN * TURNS_TIMED],
    )


# --- a decision --------------------------------------------------------------------------------------


def decisions(setting: Setting) -> Figure:
    late, early = setting.size(2_000, least=3), 2
    sides = setting.alternate(decision_at(late), decision_at(early))
    return Figure(f"next_effects after {late} turns / after {early}", "µs", *sides, at_most(1.2))


def decision_at(turn: int) -> Callable[[], float]:
    """What a decision costs on the average of the moments of a turn."""
    log = long_log(turn + 1)
    cuts = [len(log.records) - left for left in range(RECORDS_A_TURN)]
    states = [fold(log.records[:cut], run_id=log.run_id) for cut in cuts]
    plans = {VersionHash(states[0].version_hash): Plan(Version.of(AGENT))}
    now = log.records[-1].at

    def side() -> float:
        begun = process_time()
        for state in states:
            for _ in range(CALLS_TIMED):
                next_effects(plans, state, now)
        return 1e6 * (process_time() - begun) / (CALLS_TIMED * len(states))

    return side


# --- a prompt ----------------------------------------------------------------------------------------


def prompts(setting: Setting) -> Figure:
    late, early = setting.size(400, least=3), setting.size(10, least=2)
    sides = setting.alternate(prompt_at(late), prompt_at(early))
    return Figure(f"prompt at turn {late} / at turn {early}, less copying", "µs", *sides, at_most(1.5))


def prompt_at(turn: int) -> Callable[[], float]:
    """What the next prompts cost, once this many turns are absorbed, beyond copying their messages."""
    log = long_log(turn + TURNS_TIMED)

    def side() -> float:
        conversation = Conversation(AGENT.instructions)
        for record in log.records[: 2 + RECORDS_A_TURN * turn]:
            conversation.absorb(record)
        conversation.prompt().check()
        return (
            1e6
            * sum(prompt_seconds(conversation, log, turn + more) for more in range(TURNS_TIMED))
            / TURNS_TIMED
        )

    return side


def prompt_seconds(conversation: Conversation, log: LongLog, turn: int) -> float:
    at = 2 + RECORDS_A_TURN * turn
    begun = process_time()
    for record in log.records[at : at + RECORDS_A_TURN]:
        conversation.absorb(record)
    prompt = conversation.prompt()
    prompt.check()
    made = process_time()
    copies = list(prompt.messages), list(prompt.origins)
    copied = process_time()
    del copies
    return (made - begun) - (copied - made)
