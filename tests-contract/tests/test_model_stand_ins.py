"""Clients without a wire keep the laws of a real one."""

import asyncio
from pathlib import Path

import pytest

from psych_runtime.model.by_model import ByModel
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.testing.recording import RecordingClient, ReplayClient
from psych_runtime_contract.model import ModelClientContract
from psych_runtime_contract.model.playing import play, request
from psych_runtime_core.ports.model import ModelClient

CALLS = 20


def fake() -> FakeModel:
    """A model that reasons, talks and calls two tools, again and again."""
    model = FakeModel()
    calls = [("look", {"at": 1}), ("look", {"at": 2})]
    model.turn("Hello there", reasoning="Hm.", tool_calls=calls).repeat()
    return model


class TestFakeModel(ModelClientContract):
    """Scripted."""

    def client(self, base_url: str) -> ModelClient:
        return fake()


class TestByModel(ModelClientContract):
    """In front of another."""

    def client(self, base_url: str) -> ModelClient:
        return ByModel({"*": fake()})


class TestReplayClient(ModelClientContract):
    """Playing what was recorded."""

    @pytest.fixture(autouse=True)
    def recorded(self, tmp_path: Path) -> None:
        self.path = tmp_path / "recording.jsonl"
        recording = RecordingClient(fake(), self.path)

        async def record() -> None:
            for _ in range(CALLS):
                await play(recording, request())

        asyncio.run(record())

    def client(self, base_url: str) -> ModelClient:
        return ReplayClient(self.path, match="order")
