"""Our own client, judged like anybody's."""

from psych_runtime.model.openai_compatible import OpenAICompatibleClient
from psych_runtime_contract.model import KEY, ModelClientContract
from psych_runtime_core.ports.model import ModelClient


class TestOpenAICompatibleClient(ModelClientContract):
    """Every law, every case of the wire, no deviation."""

    wire = "openai.chat"

    def client(self, base_url: str) -> ModelClient:
        return OpenAICompatibleClient(base_url=base_url, api_key=KEY)
