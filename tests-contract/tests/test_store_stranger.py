"""A stranger's store is judged in five lines, and needs no more than the log methods to drive a session."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from psych_runtime import AgentSpec, ModelRef, session
from psych_runtime.store_proxy import StoreProxy
from psych_runtime.testing import FakeModel
from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store import Caps, StoreContract
from psych_runtime_core.ids import RunId
from psych_runtime_core.ports.live import NoLive
from psych_runtime_core.ports.reports import StoreCheck
from psych_runtime_core.ports.store import Store
from psych_runtime_core.ports.watch import PollingWatch, Watch
from psych_runtime_memory import InMemoryStore


class LogStore(StoreProxy):
    """A store of log methods alone: no small values, no live text, no wake-ups."""

    @property
    def kv(self) -> None:
        return None

    @property
    def live(self) -> NoLive:
        return NoLive()

    def changes(
        self, run_ids: Collection[RunId] = (), *, ready: bool = False
    ) -> AbstractAsyncContextManager[Watch]:
        return PollingWatch(self, run_ids, ready=ready)

    async def check(self) -> StoreCheck:
        return replace(await super().check(), push=False)


class TestLogStore(StoreContract):
    caps = Caps(push=False, durable=False, handles=False, kv=False, live=False)
    sequences = 1 / 20

    @pytest.fixture
    async def store(self) -> AsyncGenerator[Store]:
        async with InMemoryStore(clock=FakeClock()) as store:
            yield LogStore(store)


async def test_a_store_of_log_methods_drives_a_session() -> None:
    spec = AgentSpec(name="clerk", model=ModelRef(model="small"))
    async with (
        InMemoryStore() as store,
        session(FakeModel().turn("hello Ada"), store=LogStore(store)) as psych,
    ):
        assert (await psych.ask(spec, "hello")).text == "hello Ada"


ACME = """
import pytest
from psych_runtime.testing.clock import FakeClock
from psych_runtime_contract.store import Caps, StoreContract
from psych_runtime_memory import InMemoryStore

class AcmeStore(InMemoryStore):
    pass

class TestAcmeStore(StoreContract):
    caps = Caps(durable=False, handles=False, live=False)
    @pytest.fixture
    async def store(self):
        async with AcmeStore(clock=FakeClock()) as store: yield store
"""


def test_a_strangers_project_judges_its_store_and_is_told_what_was_left_out(tmp_path: Path) -> None:
    (tmp_path / "test_acme.py").write_text(ACME)
    chosen = "opened_again or put_replaces or comes_and_goes or admissions_of_one_key or microsecond"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-k",
        chosen,
        "-p",
        "no:cacheprovider",
        "test_acme.py",
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stdout
    assert " passed, " in ran.stdout
    assert "left out, since it needs the capability `caps.live`" in ran.stdout
    assert re.search(r"rules left out: \d for lack of `caps.durable`, \d for lack of `caps.live`", ran.stdout)
