"""The fake keeps the laws of a real client."""

from psych_runtime.testing.fake_model import FakeModel
from psych_runtime_contract.model import ModelClientContract
from psych_runtime_core.ports.model import ModelClient


class TestFakeModel(ModelClientContract):
    """It has no wire: the laws alone."""

    def client(self, base_url: str) -> ModelClient:
        fake = FakeModel()
        fake.turn(
            "Hello there", reasoning="Hm.", tool_calls=[("look", {"at": 1}), ("look", {"at": 2})]
        ).repeat()
        return fake
