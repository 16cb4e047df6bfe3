"""What the way out costs: a bomb's memory, and the pools that keep tenants apart."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figure import Figure, at_most
from benchmarks.provider import MIB, serving
from benchmarks.setting import Setting
from benchmarks.streams import peak
from psych_runtime import HttpTransport, ResponseTooLarge, Scope

CAP_MIB, ALLOWED_MIB = 8, 4
POOLS = 1_000
# Nobody listens there: the pool is made, with all that its connections need, and no connection comes about.
PROGRAM = """
import asyncio, sys
from time import process_time
from psych_runtime import HttpTransport, RequestFailed, Scope

async def asked(transport, tenant, scheme):
    begun = process_time()
    try:
        url = f"{{scheme}}://127.0.0.1:9"
        await transport.request("GET", url, scope=Scope(tenant=tenant), purpose="other", configured=(url,))
    except RequestFailed:
        return process_time() - begun
    raise SystemExit("somebody listens at port 9")

async def main(pools):
    transport = HttpTransport()
    await asked(transport, "before", "http")
    first = await asked(transport, "t1", "https")
    others = [await asked(transport, f"t{{number}}", "https") for number in range(2, pools + 1)]
    await transport.aclose()
    print(sum(others) / len(others), first)

asyncio.run(main({pools}))
"""


def measure(setting: Setting) -> Iterator[Figure]:
    yield bomb(setting)
    yield pools(setting)


def bomb(setting: Setting) -> Figure:
    """A reply that unpacks to many times its cap, and to a thousand times what is sent."""
    with serving() as provider:
        url = provider.bomb(setting.size(64, least=2 * CAP_MIB))
        peaks = [peak(refused(url, provider.origin)) for _ in range(setting.rounds + 1)][1:]
    allowed = [float(CAP_MIB + ALLOWED_MIB)] * len(peaks)
    return Figure(
        f"peak of a bomb under a cap of {CAP_MIB} MiB / {allowed[0]:g} MiB", "MiB", peaks, allowed, at_most(1)
    )


async def refused(url: str, origin: str) -> None:
    transport, cap = HttpTransport(), CAP_MIB * MIB
    try:
        await transport.request(
            "GET",
            url,
            scope=Scope(tenant="acme"),
            purpose="other",
            max_response_bytes=cap,
            configured=(origin,),
        )
    except ResponseTooLarge:
        await transport.aclose()
        return
    raise AssertionError("a body over its cap was handed on")


def pools(setting: Setting) -> Figure:
    """One a tenant, for https: the first one reads the certificates that all of them trust."""
    count = setting.size(POOLS, least=2)
    pairs = [milliseconds(count) for _ in range(setting.rounds)]
    others, first = zip(*pairs, strict=True)
    return Figure(f"pools 2 to {count}, each / the first", "ms", others, first, at_most(1 / 20))


def milliseconds(count: int) -> tuple[float, float]:
    """What the other pools take each, and the first, in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM.format(pools=count)],
        capture_output=True,
        text=True,
        check=True,
    )
    others, first = map(float, done.stdout.split())
    return 1e3 * others, 1e3 * first
