"""The template `minimal`: an agent with one tool, on a scripted model or a real one."""

import sys
from pathlib import Path

import pytest
from anyio import to_thread

from psych_runtime.testing.http_stub import HttpStub
from tests.e2e.wire import PATH, said
from tests.kit import snippets
from tests.kit.command import run
from tests.kit.rendering import NAME, Rendered, rendered


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return rendered("minimal", tmp_path_factory.mktemp("minimal"))


def test_its_tests_fail_when_the_tool_is_wrong(project: Rendered, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    assert run(f"cp -r {project.project} {broken}").code == 0
    agent = broken / NAME / "agent.py"
    agent.write_text(agent.read_text().replace('"A1": "shipped"', '"A1": "lost"'))
    assert "1 failed, 2 passed" in run([sys.executable, "-m", "pytest", "-q"], cwd=broken).out


def test_the_line_it_prints_shows_the_run(project: Rendered) -> None:
    printed = project.run("python main.py", PSYCH_STORE_URL="sqlite:///some where.db").out
    shown = project.run(printed.splitlines()[-1])
    assert shown.code == 0
    assert "  answer      Order A1 has shipped." in shown.out


async def test_with_a_key_the_model_that_is_named_is_asked_where_it_is_said(project: Rendered) -> None:
    async with HttpStub() as stub:
        asks = said(calls=[("lookup_order", {"order_id": "B2"})])
        stub.on("POST", PATH, asks, said("Being packed.", usage={"prompt_tokens": 7, "completion_tokens": 2}))
        settings = {"OPENAI_API_KEY": "sk-1", "PSYCH_BASE_URL": f"{stub.url}/v1", "PSYCH_MODEL": "m-1"}
        ended = await to_thread.run_sync(lambda: project.run("python main.py where is order B2?", **settings))
    assert ended.err == ""
    assert ended.out == "Being packed.\ntokens: 7 in, 2 out; cost: unknown\n"
    first, second = stub.requests
    assert first.json["model"] == "m-1"
    assert first.headers["authorization"] == "Bearer sk-1"
    assert "being packed" in str(second.json["messages"][-1])


def test_every_python_block_of_its_readme_prints_what_it_says(
    project: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.project)
    monkeypatch.delenv("PSYCH_MODEL", raising=False)
    monkeypatch.setattr(sys, "path", [str(project.project), *sys.path])
    ran = list(snippets.python(project.project / "README.md"))
    for block, said_there, printed in ran:
        assert snippets.agree(said_there, printed), f"line {block.line}: {printed}"
    assert [bool(said_there) for _, said_there, _ in ran] == [True]
