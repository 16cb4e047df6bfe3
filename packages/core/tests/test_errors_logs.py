"""What is told of a log that cannot be read or stored."""

from __future__ import annotations

import pytest

from psych_runtime_core.errors import CorruptionReason, CorruptLog, LogConflict, PsychError, RecordTooNew


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(
            CorruptLog(CorruptionReason.WRONG_LOG, "run_1", 3, "it has a hole"),
            "the log of run_1 is corrupt at seq 3: wrong_log: it has a hole",
            id="corrupt",
        ),
        pytest.param(
            LogConflict(CorruptionReason.WRONG_LOG, "run_1", 3, "another log is stored"),
            "run_1: another log is stored; purge that Run once it is settled, or import into another store",
            id="conflict",
        ),
        pytest.param(
            RecordTooNew("run_1", 3, "tool_call_finished", 2),
            "record 3 of run_1 ('tool_call_finished', form 2) is of a newer release; "
            "upgrade psych-runtime in this process",
            id="too new",
        ),
    ],
)
def test_an_error_says_what_it_is_of_and_what_to_do(error: PsychError, told: str) -> None:
    assert str(error) == told
