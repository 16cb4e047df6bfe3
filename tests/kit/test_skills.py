"""The skills that are shipped: their form, that they name all they teach, and that they are installed.

Their blocks are run with those of all other documents.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import psych_runtime
import psych_runtime.testing as kit
from psych_runtime import (
    AgentSpec,
    BlobKey,
    BlobMetadata,
    BlobStore,
    Codec,
    CodeTool,
    Decision,
    DispatchOptions,
    KeyValue,
    Limits,
    ModelRef,
    Policy,
    RunQuery,
    RuntimeOptions,
    Scope,
    Session,
    Store,
    StoreCheck,
    StoreStats,
    SuspensionPolicy,
    ToolContext,
    ToolFlags,
    ToolRegistry,
    Worker,
    session,
)
from psych_runtime.cli.skill_set import shipped, skills
from psych_runtime.store.sqlite import SQLiteStore
from psych_runtime.testing.auditor import CODES, FOLDED
from psych_runtime_contract.store import Caps
from tests.house.checkout import ROOT
from tests.kit import snippets
from tests.kit.command import Psych

FOLDER = ROOT / ".agents" / "skills"
NAMES = (
    "psych",
    "psych-agents",
    "psych-blobs",
    "psych-code-tools",
    "psych-multitenancy",
    "psych-quickstart",
    "psych-stores",
    "psych-testing",
)
EVERY = pytest.mark.parametrize("name", NAMES)
FRONT_MATTER = re.compile(
    r"---\nname: (?P<name>\S+)\ndescription: (?P<description>\S.*\S)\n---\n\n(?P<body># .*)", re.S
)
CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
MOST_LINES = 250


def text_of(name: str) -> str:
    return (FOLDER / name / "SKILL.md").read_text()


def fields(cls: type[Any]) -> list[str]:
    """The fields of a model or a dataclass, the keys of a TypedDict."""
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]
    return list(cls.model_fields) if issubclass(cls, BaseModel) else list(inspect.get_annotations(cls))


def members(cls: type) -> list[str]:
    """What a class lets others call and read."""
    return [name for name in dir(cls) if not name.startswith("_")]


def parameters(call: Callable[..., object]) -> list[str]:
    """What a call takes by name alone."""
    return [
        name for name, each in inspect.signature(call).parameters.items() if each.kind is each.KEYWORD_ONLY
    ]


WORKER = ("run", "drain", "stop")
# What each skill teaches, and so has to name.
TAUGHT: Mapping[str, Mapping[str, Iterable[str]]] = {
    "psych": {
        "the front of psych_runtime": dir(psych_runtime),
        "Session": members(Session),
        "Worker": [*parameters(Worker), *WORKER],
    },
    "psych-quickstart": {
        "session": parameters(session),
        "RuntimeOptions": fields(RuntimeOptions),
        "DispatchOptions": fields(DispatchOptions),
    },
    "psych-agents": {
        "AgentSpec": fields(AgentSpec),
        "Limits": fields(Limits),
        "ModelRef": fields(ModelRef),
        "SuspensionPolicy": fields(SuspensionPolicy),
        "CodeTool": fields(CodeTool),
    },
    "psych-code-tools": {
        "ToolFlags": fields(ToolFlags),
        "ToolContext": [*fields(ToolContext), "cancelled", "secret"],
        "ToolRegistry": members(ToolRegistry),
    },
    "psych-stores": {
        "RunQuery": fields(RunQuery),
        "StoreStats": fields(StoreStats),
        "StoreCheck": fields(StoreCheck),
        "Store": members(Store),
        "KeyValue": members(KeyValue),
        "Caps": fields(Caps),
        "SQLiteStore": parameters(SQLiteStore),
    },
    "psych-blobs": {
        "BlobStore": members(BlobStore),
        "BlobKey": fields(BlobKey),
        "BlobMetadata": fields(BlobMetadata),
    },
    "psych-multitenancy": {
        "Scope": fields(Scope),
        "Policy": members(Policy),
        "Decision": fields(Decision),
        "Codec": members(Codec),
    },
    "psych-testing": {
        "psych_runtime.testing": kit.__all__,
        "FakeModel": members(kit.FakeModel),
        "LogBuilder": members(kit.LogBuilder),
        "HttpStub": members(kit.HttpStub),
        "Scenario": fields(kit.Scenario),
        "audit": [*CODES, *FOLDED],
    },
}

# Public names that no skill teaches: a new one is taught, and this only grows shorter.
NOT_YET = {
    # what may leave, and how
    *("AllOf", "AllowAllEgress", "ClientSettings", "CredentialBinding", "DenyAllEgress", "EgressAudit"),
    *("EgressDecision", "EgressEvent", "EgressPolicy", "EgressPurpose", "EgressRequest", "HeaderSource"),
    *("HttpTimeouts", "ProxyConfig", "RequestFailed", "RequestSettings", "ResolvedCredential"),
    *("Resolver", "ResponseTooLarge", "ToolHttp", "TransportClientSettings", "TransportRequestSettings"),
    "stable_credential_identity",
    # what models cost
    *("CostPolicy", "DEFAULT_PRICES", "GenaiPrices", "ModelPrice", "PriceResolver", "PriceTier"),
    *("StaticPriceTable", "compute_cost"),
    # what a model is told
    *("AssistantPart", "CallSource", "ConversationError", "Dialect", "Media", "MessageModel"),
    *("ModelErrorKind", "ModelSource", "Part", "check_conversation"),
    # what a fold, a tool or a log is made of
    *("Approved", "CorruptionReason", "FactModel", "Failure", "LaneAnswer", "LanePhase", "NoFreeSlot"),
    *("Problem", "RecordModel", "RegisteredTool", "Remembered", "Repeat", "RunState"),
    *("SETTLED_LIFECYCLE", "Streak", "ToolClass", "WaitAnswer", "call_digest", "narrow"),
}


def test_these_are_the_skills() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(NAMES) == sorted(TAUGHT)


@EVERY
def test_a_skill_says_what_it_is_and_when_it_is_used(name: str) -> None:
    found = FRONT_MATTER.fullmatch(text_of(name))
    assert found, "front matter of a name and a description, a blank line, a title"
    assert found["name"] == name
    assert 120 <= len(found["description"]) <= 1_024
    assert ". Use when " in found["description"]
    assert len(found["body"].splitlines()) <= MOST_LINES


@EVERY
def test_a_skill_has_blocks_that_run_and_ends_with_what_goes_wrong(name: str) -> None:
    path = FOLDER / name / "SKILL.md"
    assert {block.language for block in snippets.blocks(path)} >= {"python"}
    _, last = text_of(name).split("\n## When it goes wrong\n")
    rows = last.strip().splitlines()
    assert rows[:2] == ["| symptom | cause | cure |", "|---|---|---|"]
    assert len(rows) >= 6
    cells = [row.strip("| ").split(" | ") for row in rows[2:]]
    assert {len(row) for row in cells} == {len(("symptom", "cause", "cure"))}


@EVERY
def test_a_skill_links_to_skills_alone_since_it_is_installed_without_the_rest(name: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", text_of(name))
    assert not [link for link in links if not re.fullmatch(r"\.\./psych[\w-]*/SKILL\.md", link)]


def test_the_first_skill_leads_to_all_others() -> None:
    assert {f"../{name}/SKILL.md" for name in NAMES[1:]} <= set(
        re.findall(r"\]\(([^)]+)\)", text_of("psych"))
    )


@pytest.mark.parametrize(
    ("skill", "names"),
    [
        pytest.param(skill, names, id=f"{skill}: {what}")
        for skill, taught in TAUGHT.items()
        for what, names in taught.items()
    ],
)
def test_a_skill_names_all_that_it_teaches(skill: str, names: Iterable[str]) -> None:
    assert not sorted(set(names) - words_of_code(text_of(skill)))


def test_every_public_name_is_taught_but_for_a_list_that_grows_shorter() -> None:
    taught = {word for name in NAMES for word in words_of_code(text_of(name))}
    assert set(psych_runtime.__all__) - taught == NOT_YET


def words_of_code(text: str) -> set[str]:
    """The words that stand in blocks and between backticks."""
    return {word for code in CODE.findall(text) for word in re.findall(r"\w+", code)}


def test_a_word_of_prose_names_nothing() -> None:
    found = words_of_code("a limit\n```python\nb.c(1)\n```\nand `d e`, f")
    assert found == {"python", "b", "c", "1", "d", "e"}


def test_they_are_found_listed_and_installed(
    psych: Psych, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert skills() == FOLDER
    assert tuple(skill.name for skill in shipped()) == NAMES
    monkeypatch.chdir(tmp_path)
    listed = psych("skills", "list").out.splitlines()
    assert [line.split()[:2] for line in listed] == [[name, "absent"] for name in NAMES]
    assert psych("skills", "install").code == 0
    for name in NAMES:
        assert (tmp_path / ".agents" / "skills" / name / "SKILL.md").read_text() == text_of(name)
