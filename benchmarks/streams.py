"""A model call through the client, against bare httpx2 that reads the same bytes from the same provider."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing
from time import perf_counter, process_time
from typing import Any

import httpx2

from benchmarks.figure import Figure, at_least, at_most
from benchmarks.provider import MIB, Provider, serving
from benchmarks.setting import Setting, Side
from psych_runtime import ModelCallContext, ModelRequest, OpenAICompatibleClient, RunId, Scope
from psych_runtime.model.assemble import Assembly
from psych_runtime.testing.assemble import NOBODY, numbered
from psych_runtime_core.messages import UserMessage

CONTEXT = ModelCallContext(Scope(tenant="acme"), RunId("run_1"), "", "support", 1, 0)
REQUEST = ModelRequest("gpt-4o", (UserMessage(content="Where is my order?"),))
BODY = b'{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Where is my order?"}]}'
SHORT, LARGE = 20, 16 * 1024
# How long a reply of each kind is measured: all stay below the most that an answer may hold.
LONGEST = {"text": 100_000, "reasoning": 20_000, "items": 20_000, "arguments": 20_000}
# The largest events of each kind, in characters or in pieces of one: each below what is refused unread.
LARGEST = {"text": 2_000_000, "fragments": 4_800, "parts": 4_800}

Read = Callable[[str], Coroutine[Any, Any, None]]


def measure(setting: Setting) -> Iterator[Figure]:
    with serving() as provider:
        yield from throughput(setting, provider)
        yield latency(setting, provider)
        yield from growth(setting, provider)
        yield from large(setting, provider)
        yield memory(setting, provider)


# --- speed ---------------------------------------------------------------------------------------------


def throughput(setting: Setting, provider: Provider) -> Iterator[Figure]:
    """Tokens in a second of processor time, one an event."""
    events = setting.size(20_000)
    url = provider.streams(events)
    ours, parsed, bare = (rate(url, events, read) for read in (passed_by, read_events, read_bytes))
    sides = setting.alternate(ours, parsed)
    yield Figure("tokens of a stream / httpx2's events and json.loads", "/s", *sides, at_least(0.5))
    yield Figure("tokens of a stream / its bytes by httpx2", "/s", *setting.alternate(ours, bare))


def rate(url: str, events: int, read: Read) -> Side:
    def side() -> float:
        return events / processor_seconds(read(url))

    return side


def growth(setting: Setting, provider: Provider) -> Iterator[Figure]:
    """Chunks late in a reply: where each looked at all that came before it, they would cost a hundredfold."""
    early = setting.size(1_000)
    for kind, full in LONGEST.items():
        late = setting.size(full, least=2)

        def chunk(events: int, kind: str = kind) -> Side:
            return lambda: 1e6 * processor_seconds(assembled(provider.streams(events, kind=kind))) / events

        sides = setting.alternate(chunk(late), chunk(early))
        yield Figure(f"a chunk of {late}, {kind} / a chunk of {early}", "µs", *sides, at_most(1.5))


def large(setting: Setting, provider: Provider) -> Iterator[Figure]:
    """One event: were its pieces compared with each other, eight times as many would cost 64-fold."""
    for kind, most in LARGEST.items():
        size = setting.size(most // 8)

        def event(characters: int, kind: str = kind) -> Side:
            return lambda: 1e3 * processor_seconds(passed_by(provider.streams(1, characters, kind)))

        sides = setting.alternate(event(8 * size), event(size))
        yield Figure(f"an event of {8 * size}, {kind} / an event of {size}", "ms", *sides, at_most(10))


def processor_seconds(work: Coroutine[Any, Any, None]) -> float:
    begun = process_time()
    asyncio.run(work)
    return process_time() - begun


def latency(setting: Setting, provider: Provider) -> Figure:
    """Calls one after another, each over the connection of the one before."""
    url, calls = provider.streams(SHORT), setting.size(200)
    sides = setting.alternate(
        lambda: asyncio.run(our_calls(url, calls)), lambda: asyncio.run(bare_calls(url, calls))
    )
    return Figure(f"a call with {SHORT} tokens / its bytes by httpx2", "ms", *sides)


async def our_calls(url: str, calls: int) -> float:
    """Milliseconds a call takes."""
    client = OpenAICompatibleClient(base_url=url)
    await called(client)
    begun = perf_counter()
    for _ in range(calls):
        await called(client)
    took = perf_counter() - begun
    await client.transport.aclose()
    return 1e3 * took / calls


async def bare_calls(url: str, calls: int) -> float:
    """The same of calls that make nothing of what they read."""
    async with httpx2.AsyncClient() as client:
        await posted(client, url)
        begun = perf_counter()
        for _ in range(calls):
            await posted(client, url)
        return 1e3 * (perf_counter() - begun) / calls


# --- ways to read --------------------------------------------------------------------------------------


async def assembled(url: str) -> None:
    """As a Worker does it: a message is made of the events."""
    client = OpenAICompatibleClient(base_url=url)
    await called(client)
    await client.transport.aclose()


async def called(client: OpenAICompatibleClient) -> None:
    assembly = Assembly(NOBODY, numbered)
    async with aclosing(client.stream(REQUEST, CONTEXT)) as events:
        async for event in events:
            assembly.feed(event)
    assembly.finish()


async def passed_by(url: str) -> None:
    """Nothing is kept."""
    client = OpenAICompatibleClient(base_url=url)
    async with aclosing(client.stream(REQUEST, CONTEXT)) as events:
        async for _ in events:
            pass
    await client.transport.aclose()


async def read_bytes(url: str) -> None:
    async with httpx2.AsyncClient() as client:
        await posted(client, url)


async def posted(client: httpx2.AsyncClient, url: str) -> None:
    async with client.stream("POST", f"{url}/chat/completions", content=BODY) as response:
        async for _ in response.aiter_bytes():
            pass


async def read_events(url: str) -> None:
    """The least that finds the tokens in the bytes."""
    async with (
        httpx2.AsyncClient() as client,
        client.stream("POST", f"{url}/chat/completions", content=BODY) as response,
    ):
        async for event in httpx2.EventSource(response):
            if event.data != "[DONE]":
                json.loads(event.data)


# --- memory --------------------------------------------------------------------------------------------


def memory(setting: Setting, provider: Provider) -> Figure:
    large, small = 64, 1

    def stream(mebibytes: int) -> Side:
        return lambda: peak(passed_by(provider.streams(setting.size(mebibytes * MIB // LARGE), LARGE)))

    sides = setting.alternate(stream(large), stream(small))
    return Figure(
        f"peak of a stream of {large} MiB that nobody keeps / of {small} MiB", "MiB", *sides, at_most(2)
    )


def peak(work: Coroutine[Any, Any, None]) -> float:
    """The most that Python holds at once meanwhile, in MiB beyond what it held before."""
    gc.collect()
    tracemalloc.start()
    asyncio.run(work)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / MIB
