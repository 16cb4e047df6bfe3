"""Every verb, as a process of its own and in this one: its answer, its documents as published, its codes."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from psych_runtime.cli.parser import parser
from psych_runtime.cli.schemas import DOCUMENTS, document_schema
from psych_runtime.cli.verbs import VERBS
from psych_runtime.testing import LogBuilder
from tests.kit.command import PSYCH, Psych, checked, run
from tests.kit.logs import family, flip_a_byte, store, url_of, whole
from tests.kit.shop import HOSTILE, Shop

# By the words of each verb: a command that does it, and the documents that it prints with --json.
COMMANDS: dict[str, tuple[list[str], set[str]]] = {
    "new": (["demo"], {"psych.new/1"}),
    "skills list": ([], {"psych.skills/1"}),
    "skills install": ([], {"psych.skills/1"}),
    "doctor": ([], {"psych.doctor/1"}),
    "runs": (["--all"], {"psych.runs/1"}),
    "show": (["run_root", "--follow"], {"psych.record/1", "psych.run/1"}),
    "log export": (["run_root", "-o", "run.jsonl"], {"psych.export/1"}),
    "log import": (["kept.jsonl"], {"psych.import/1"}),
    "log verify": (["--all"], {"psych.verify/1"}),
    "stats": ([], {"psych.stats/1"}),
    "migrate": ([], {"psych.migrate/1"}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store and an exported log, to be copied."""
    folder = tmp_path_factory.mktemp("made")
    family(url_of(folder))
    goes_on = LogBuilder("run_open", version_hash=whole().version_hash).admitted().attempt()
    store(url_of(folder, "open.db"), goes_on)
    export = [PSYCH, "log", "export", "run_left", "--store", url_of(folder), "-o", "kept.jsonl"]
    assert run(export, cwd=folder).code == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with those, which is the present one."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command_of(words: str) -> list[str]:
    flags, _ = COMMANDS[words]
    verb = next(verb for verb in VERBS if verb.words == words)
    return [PSYCH, *words.split(), *flags, *(["--store", "sqlite:///runs.db"] if verb.of_store else [])]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.words)
def test_every_verb_answers_in_text_and_in_documents_that_are_published(
    here: Path, psych: Psych, verb: Any
) -> None:
    _, documents = COMMANDS[verb.words]
    text = run(command_of(verb.words), cwd=here)
    assert (text.code, text.err) == (0, "")
    assert "\x1b" not in text.out
    again = ["--force"] if verb.words == "new" else []
    parsed = psych(*command_of(verb.words)[1:], "--json", *again)
    assert (parsed.code, parsed.err) == (0, "")
    lines = [checked(json.loads(line)) for line in parsed.out.splitlines()]
    assert {line["schema"] for line in lines} == documents
    assert parsed.out.isascii()


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.words)
def test_every_verb_has_help_with_its_flags(psych: Psych, verb: Any) -> None:
    ended = psych(*verb.words.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    for flag in verb.flags:
        assert flag.settings.get("metavar", flag.name).split("|")[0] in ended.out
    assert ("--codec MODULE:NAME" in ended.out) == verb.of_store


@pytest.mark.parametrize("group", ["log", "skills"])
def test_a_group_of_verbs_wants_one_of_them(psych: Psych, group: str) -> None:
    ended = psych(group)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[1] == f"try: psych {group} --help"


def test_every_document_is_a_schema_and_is_reached() -> None:
    for name in DOCUMENTS:
        jsonschema.Draft202012Validator.check_schema(document_schema(name))
    printed = {name for _, documents in COMMANDS.values() for name in documents}
    assert printed | {"psych.error/1"} == set(DOCUMENTS)
    assert COMMANDS.keys() == {verb.words for verb in VERBS}


def test_a_schema_says_what_a_document_is() -> None:
    with pytest.raises(KeyError):
        document_schema("psych.nothing/1")
    schema = document_schema("psych.migrate/1")
    right: dict[str, object] = {"schema": "psych.migrate/1", "from": 0, "to": 1, "applied": [], "pending": []}
    jsonschema.validate(right, schema)
    for key, wrong in {"from": None, "schema": "psych.migrate/2", "applied": "x"}.items():
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**right, key: wrong}, schema)


# --- how it ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("psych runs --store sqlite:///runs.db", 0),
        ("psych log export run_root --store sqlite:///runs.db -o kept.jsonl", 1),
        ("psych runs", 2),
        ("psych runs --store memory:", 2),
        ("psych log verify run_deep --store sqlite:///runs.db", 3),
        ("psych migrate --check --store sqlite:///new.db", 3),
        ("psych skills install --check --dest elsewhere", 3),
        ("psych doctor --store sqlite:///new.db", 3),
        ("psych show run_open --exit-status --store sqlite:///open.db", 3),
        ("psych show run_nobody --store sqlite:///runs.db", 4),
        ("psych log import absent.jsonl --store sqlite:///runs.db", 4),
        ("psych runs --store sqlite:///absent.db", 4),
    ],
)
def test_every_code_is_reached(here: Path, psych: Psych, line: str, code: int) -> None:
    flip_a_byte(url_of(here), "run_deep", 3)
    text = run(line.replace("psych", PSYCH, 1), cwd=here)
    parsed = psych(*line.split()[1:], "--json")
    assert text.code == parsed.code == code
    if code in {1, 2, 4}:
        assert text.out == ""
        assert text.err.startswith("psych: ")
        assert parsed.out in {"", '{"schema": "psych.import/1", "files": []}\n'}
        assert parsed.error()["fix"]


def test_a_reader_that_goes_away_ends_a_long_list_quietly(here: Path) -> None:
    line = f"{PSYCH} runs --all --limit 1 --store sqlite:///runs.db | head -n 1"
    told = run(["bash", "-c", f"{line}; echo ${{PIPESTATUS[0]}}"], cwd=here)
    assert (told.err, len(told.out.splitlines())) == ("", 2)
    assert told.out.splitlines()[1] in {"0", "141"}


def test_an_export_into_a_closed_pipe_ends_quietly(here: Path) -> None:
    line = f"{PSYCH} log export run_root --store sqlite:///runs.db | true; echo ${{PIPESTATUS[0]}}"
    assert run(["bash", "-c", line], cwd=here) == (0, "141\n", "")


@pytest.mark.parametrize("arguments", [*([*verb.words.split(), "--help"] for verb in VERBS), ["log"]])
def test_help_loads_no_model_of_data(arguments: list[str]) -> None:
    program = f"import sys; from psych_runtime.cli import main; main({arguments}); print(*sys.modules)"
    loaded = run([sys.executable, "-c", program]).out.splitlines()[-1].split()
    assert "psych_runtime.cli.parser" in loaded
    assert not {"pydantic", "asyncio", "anyio"} & set(loaded)


def test_no_verb_does_what_needs_the_consumer() -> None:
    words = {word for verb in VERBS for word in verb.words.split()}
    assert not words & {"run", "serve", "worker", "resume", "interrupt", "approve", "deny", "send", "purge"}
    assert parser().parse_args([]).does is None


def test_hostile_words_forge_no_line_in_any_verb(psych: Psych, shop: Shop) -> None:
    acting = {*"\x1b\r\x07\u202e\u2028\x9b\x7f\t"}
    for verb in (["runs"], ["show", shop.hostile], ["log", "verify", "--all"], ["stats"], ["doctor"]):
        shown = psych(*verb, "--store", shop.url)
        assert not set(shown.out + shown.err) & set(HOSTILE) & acting
    named = psych("show", HOSTILE.replace("\n", ""), "--store", shop.url)
    assert not set(named.err) & acting
    assert len(named.err.splitlines()) == 2
