"""What a developer is handed has its test: each template, skill, verb, public call and record type.

Each table says where: that file is there, and names the thing.
"""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import psych_runtime
from psych_runtime.cli.verbs import VERBS
from psych_runtime_core.records import Record
from tests.house.checkout import ROOT, files

TEMPLATES = {name: f"tests/kit/test_template_{name}.py" for name in ("adapter", "minimal")}
SKILLS = dict.fromkeys(
    (
        "psych",
        "psych-agents",
        "psych-blobs",
        "psych-code-tools",
        "psych-multitenancy",
        "psych-quickstart",
        "psych-stores",
        "psych-testing",
    ),
    "tests/kit/test_skills.py",
)
VERBS_IN = {
    "new": "tests/kit/test_cli_new.py",
    "skills list": "tests/kit/test_cli_skills.py",
    "skills install": "tests/kit/test_cli_skills.py",
    "doctor": "tests/kit/test_cli_doctor.py",
    "runs": "tests/kit/test_cli_runs.py",
    "show": "tests/kit/test_cli_show.py",
    "log export": "tests/kit/test_cli_logs.py",
    "log import": "tests/kit/test_cli_logs.py",
    "log verify": "tests/kit/test_cli_logs.py",
    "stats": "tests/kit/test_cli_store_care.py",
    "migrate": "tests/kit/test_cli_store_care.py",
}
CALLS_IN = {
    "answer": "packages/runtime/tests/test_api_reading.py",
    "approve": "packages/runtime/tests/test_api_resume.py",
    "deny": "packages/runtime/tests/test_api_resume.py",
    "dispatch": "packages/runtime/tests/test_api_dispatch.py",
    "export_run": "packages/runtime/tests/test_api_exports.py",
    "import_run": "packages/runtime/tests/test_api_exports.py",
    "interrupt": "packages/runtime/tests/test_api_send.py",
    "open_store": "packages/runtime/tests/test_api_open_store.py",
    "publish": "packages/runtime/tests/test_api_dispatch.py",
    "purge": "packages/runtime/tests/test_api_runs.py",
    "records": "packages/runtime/tests/test_api_reading.py",
    "redacted": "packages/runtime/tests/test_api_redacted.py",
    "report": "packages/runtime/tests/test_api_reading.py",
    "resume": "packages/runtime/tests/test_api_resume.py",
    "resume_all": "packages/runtime/tests/test_api_resume.py",
    "runs": "packages/runtime/tests/test_api_runs.py",
    "scoped": "packages/runtime/tests/test_api_scoped.py",
    "send": "packages/runtime/tests/test_api_send.py",
    "session": "packages/runtime/tests/test_api_session.py",
    "state": "packages/runtime/tests/test_api_reading.py",
    "status": "packages/runtime/tests/test_api_reading.py",
    "stream": "packages/runtime/tests/test_api_reading.py",
    "thread": "packages/runtime/tests/test_api_reading.py",
    "verify": "packages/runtime/tests/test_api_reading.py",
}
RECORDS_IN = {
    "run_admitted": "packages/runtime/tests/test_api_dispatch.py",
    "attempt_started": "packages/core/tests/test_engine_crash.py",
    "turn_started": "packages/core/tests/test_engine_rows.py",
    "model_call_started": "packages/core/tests/test_engine_rows.py",
    "model_call_finished": "packages/core/tests/test_engine_commits.py",
    "model_call_failed": "packages/core/tests/test_engine_retry.py",
    "tool_call_started": "packages/core/tests/test_engine_commits.py",
    "tool_call_finished": "packages/core/tests/test_engine_stop.py",
    "suspended": "packages/core/tests/test_engine_guards.py",
    "resumed": "packages/core/tests/test_engine_guards.py",
    "abort_requested": "packages/runtime/tests/test_api_send.py",
    "queue_enqueued": "packages/runtime/tests/test_api_send.py",
    "queue_consumed": "packages/core/tests/test_engine_rows.py",
    "run_settled": "packages/core/tests/test_engine_rows.py",
}


def called(name: str) -> str:
    """How a test calls a function."""
    return rf"\b{name}\("


def in_class(record: str) -> str:
    """How a test names a record: by its type, or by the class of that type."""
    return rf"\b({record}|{record.title().replace('_', '')})\b"


# A thing, the file that tests it, and how it is named there.
NAMED = [
    *((name, file, rf'rendered\("{name}"') for name, file in TEMPLATES.items()),
    *((name, file, rf'^    "{name}": {{$') for name, file in SKILLS.items()),
    *((words, file, '"{}"'.format('", "'.join(words.split()))) for words, file in VERBS_IN.items()),
    *((name, file, called(name)) for name, file in CALLS_IN.items()),
    *((name, file, in_class(name)) for name, file in RECORDS_IN.items()),
]


@pytest.mark.parametrize(
    ("file", "pattern"), [pytest.param(file, pattern, id=name) for name, file, pattern in NAMED]
)
def test_what_tests_a_thing_names_it(file: str, pattern: str) -> None:
    assert Path(file) in files()
    assert re.search(pattern, text_of(file), re.MULTILINE)


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text()


def public_calls() -> set[str]:
    """The functions of the front; those of the records that work on what `export_run` gives."""
    front = {*dir(psych_runtime), "redacted"}
    return {name for name in front if inspect.isroutine(getattr(psych_runtime, name))}


@pytest.mark.parametrize(
    ("table", "there_are"),
    [
        pytest.param(
            TEMPLATES, {path.parent.name for path in ROOT.glob("templates/*/pyproject.toml")}, id="templates"
        ),
        pytest.param(
            SKILLS, {path.parent.name for path in ROOT.glob(".agents/skills/*/SKILL.md")}, id="skills"
        ),
        pytest.param(VERBS_IN, {verb.words for verb in VERBS}, id="verbs"),
        pytest.param(CALLS_IN, public_calls(), id="public calls"),
        pytest.param(
            RECORDS_IN,
            {record.model_fields["type"].default for record in get_args(Record)},
            id="record types",
        ),
    ],
)
def test_a_table_names_all_that_there_is(table: Mapping[str, str], there_are: set[str]) -> None:
    assert table.keys() == there_are


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (called("send"), "await send(store)"),
        (in_class("run_settled"), "records[-1].type == 'run_settled'"),
        (in_class("run_settled"), "isinstance(record, RunSettled)"),
    ],
)
def test_a_thing_is_named_by_its_own_name_alone(pattern: str, text: str) -> None:
    assert re.search(pattern, text)
    assert not re.search(pattern, text.replace("send", "resend").replace("ettled", "ettledAgain"))
