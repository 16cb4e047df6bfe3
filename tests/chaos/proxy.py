"""LiteLLM's proxy as a child process, between the client and a provider of ours or replies of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from socket import socket

import anyio

from psych_runtime import HttpTransport, RequestFailed, Scope

PROGRAM = Path(__file__).resolve().parents[2] / ".chaos" / "bin" / "litellm"
WARDEN = Path(__file__).with_name("warden.py")
KEY = "sk-of-the-proxy"
# Of the model `relayed`, in dollars.
INPUT_PRICE, OUTPUT_PRICE = "0.000002", "0.00001"

READY_SECONDS = 200.0
LOOK_SECONDS = 0.2
# Where nobody listens: what the proxy sends anywhere but to this machine goes there.
NOWHERE = "http://127.0.0.1:9"


@contextmanager
def started(folder: Path, provider_url: str) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """Its URL, and the warden that ends it when the block is left or this process is gone."""
    if not PROGRAM.exists():
        raise FileNotFoundError(f"{PROGRAM} is not there: make chaos")
    settings = folder / "config.yaml"
    # JSON is YAML.
    settings.write_text(json.dumps(config(f"{provider_url}/v1")))
    port = free_port()
    options = ("--config", str(settings), "--host", "127.0.0.1", "--port", str(port))
    with (folder / "proxy.log").open("wb") as log:
        warden = subprocess.Popen(
            [sys.executable, "-I", str(WARDEN), str(PROGRAM), *options],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(folder),
            start_new_session=True,
        )
    try:
        yield f"http://127.0.0.1:{port}", warden
    finally:
        assert warden.stdin is not None
        warden.stdin.close()
        warden.wait(30)


def config(provider: str) -> dict[str, object]:
    """A model for each way to be answered. The proxy repeats nothing: that is what is to be seen of us."""
    return {
        "model_list": [
            model("mocked", mock_response="Plainly said."),
            model("refused", mock_response="litellm.RateLimitError"),
            model("overflowing", mock_response="litellm.ContextWindowExceededError"),
            model(
                "relayed",
                api_base=provider,
                input_cost_per_token=float(INPUT_PRICE),
                output_cost_per_token=float(OUTPUT_PRICE),
            ),
        ],
        "litellm_settings": {"num_retries": 0},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "general_settings": {"master_key": KEY},
    }


def model(name: str, **parameters: object) -> dict[str, object]:
    return {
        "model_name": name,
        "litellm_params": {"model": "openai/fake-1", "api_key": "sk-of-the-provider", **parameters},
    }


def environment(folder: Path) -> dict[str, str]:
    """Nothing of ours, and nothing out of the network: no list of prices, no settings, no telemetry."""
    return {
        "HOME": str(folder),
        "PATH": os.defpath,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1",
    }


def free_port() -> int:
    with socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


async def ready(url: str, warden: subprocess.Popen[bytes], log: Path) -> None:
    """Returns once it serves; tells what it said when it ended, or takes too long."""
    transport, by = HttpTransport(), time.monotonic() + READY_SECONDS
    try:
        while not await alive(transport, url):
            if warden.poll() is not None or time.monotonic() > by:
                raise not_serving(log)
            await anyio.sleep(LOOK_SECONDS)
    finally:
        await transport.aclose()


async def alive(transport: HttpTransport, url: str) -> bool:
    place = f"{url}/health/liveliness"
    try:
        reply = await transport.request(
            "GET", place, scope=Scope(tenant="acme"), purpose="other", configured=(url,)
        )
    except RequestFailed:
        return False
    return reply.status_code == 200


def not_serving(log: Path) -> AssertionError:
    return AssertionError(f"the proxy does not serve; it said\n{log.read_text()}")
