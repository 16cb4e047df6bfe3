"""Every case of the corpus has its outcome, however its bytes arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from psych_runtime.testing.http_stub import HttpStub, Raw, Reply
from psych_runtime_contract.given import unfit
from psych_runtime_contract.model.asking import ASKED
from psych_runtime_contract.model.cases import Outcome, WireCase
from psych_runtime_contract.model.cuts import replies
from psych_runtime_contract.model.judging import broken_laws, differences, unequal
from psych_runtime_contract.model.leaving import holds_on
from psych_runtime_contract.model.playing import Played, patience_for, play, request
from psych_runtime_contract.model.suite import NEEDS_A_WIRE, ModelSuite
from psych_runtime_contract.model.wires import Wire
from psych_runtime_core.messages import AssistantMessage, ModelSource, ToolResultMessage, UserMessage
from psych_runtime_core.ports.model import ModelClient

ELSEWHERE = ModelSource(provider="another", model="another-model")


@dataclass(frozen=True, slots=True)
class _Table:
    """A client at its stub, which a case is played on."""

    wire: Wire
    stub: HttpStub
    client: ModelClient


class CorpusRules(ModelSuite):
    """One test a case. A case in `deviations` is expected to fail; a deviation that never does is stale."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One item a case of the wire; one for all of them, which is left out, where there is no wire."""
        if "case" in metafunc.fixturenames and self.wire is None:
            metafunc.parametrize("case", [pytest.param(None, id="every case")])
        elif "case" in metafunc.fixturenames:
            cases = self.spoken().cases
            metafunc.parametrize("case", [pytest.param(case, id=case.id) for case in cases])

    @NEEDS_A_WIRE
    async def test_a_reply_has_its_outcome_at_every_cut(self, case: WireCase) -> None:
        """The case, played in every way to cut it."""
        reason = self.deviations.get(case.id) or self.deviations.get(case.row)
        wrong = await self.failure(case)
        if wrong and reason:
            pytest.xfail(reason)
        if wrong:
            raise AssertionError(wrong)

    def test_each_deviation_is_of_the_wire_and_says_why(self) -> None:
        """A name that no case has, and one without a reason, would say nothing."""
        if self.deviations and self.wire is None:
            unfit(f"deviations names {', '.join(self.deviations)}, and without a wire there are no rows")
        known = {name for case in (self.spoken().cases if self.wire else ()) for name in (case.id, case.row)}
        known |= {asked.id for asked in ASKED}
        for name, reason in self.deviations.items():
            if name not in known:
                unfit(f"the deviation {name} names no row and no case of {self.wire}")
            if not reason.strip():
                unfit(f"the deviation {name} has no reason; say why the client breaks it")

    @NEEDS_A_WIRE
    async def test_no_deviation_is_stale(self) -> None:
        """Each deviation names a row or a case that does fail."""
        for name in self.deviations:
            named = [case for case in self.spoken().cases if name in {case.id, case.row}]
            if named and not [case for case in named if await self.failure(case)]:
                raise AssertionError(f"the deviation {name} is stale: it passes; take it out")

    async def failure(self, case: WireCase, *, cut: bool = True) -> str | None:
        """What is wrong at the first cut where anything is; `cut` False plays the whole reply alone."""
        wire = self.spoken()
        async with self.serving() as (stub, client):
            table = _Table(wire, stub, client)
            for name, reply in replies(case.made(), case.cuts, case.id):
                wrong = [line async for line in _faults(table, case.expect, reply, whole=name == "whole")]
                if wrong:
                    return f"{case.id}, cut {name}:\n" + "\n".join(f"  {line}" for line in wrong)
                if not cut:
                    break
        return None


async def _faults(table: _Table, expect: Outcome, reply: Reply | Raw, *, whole: bool) -> AsyncIterator[str]:
    table.stub.on("POST", table.wire.path, reply)
    before = len(table.stub.requests)
    played = await play(table.client, request(), patience_for(reply))
    if (asked := len(table.stub.requests) - before) != 1:
        yield f"law 6: one call asked {asked} times"
    for line in (*broken_laws(played), *differences(expect, played)):
        yield line
    if expect.leaves and await holds_on(table.stub.requests[-1]):
        yield "the client still holds its socket a second after it was done"
    if whole and expect.keeps:
        async for line in _opens_another(table):
            yield line
    if whole and played.message is not None and _goes_back(expect, played.message):
        async for line in _next_request(table, expect, played):
            yield line


async def _opens_another(table: _Table) -> AsyncIterator[str]:
    await play(table.client, request())
    first, second = (seen.connection for seen in table.stub.requests[-2:])
    if first != second:
        yield f"the next call went over connection {second}, this one over {first}"


def _goes_back(expect: Outcome, message: AssistantMessage) -> bool:
    wanted = expect.replay is not None or expect.replay_elsewhere is not None or message.tool_calls
    return bool(wanted) and message.says_something


async def _next_request(table: _Table, expect: Outcome, played: Played) -> AsyncIterator[str]:
    """What is wrong with the request that follows the answer, at its provider and at another one."""
    message = played.message
    assert message is not None
    table.stub.on("POST", table.wire.path, table.wire.answer("Good."))
    for replay, source in ((expect.replay, message.source), (expect.replay_elsewhere, ELSEWHERE)):
        sent = AssistantMessage(parts=message.parts, source=source)
        again = await play(table.client, request(*_answered(sent)))
        if again.error is not None:
            yield f"next request: it failed with {again.error!r}"
            return
        body = table.stub.requests[-1].json
        for line in (*table.wire.faults(body), *unequal(replay or {}, table.wire.assistant(body))):
            yield line


def _answered(message: AssistantMessage) -> Iterator[AssistantMessage | ToolResultMessage | UserMessage]:
    yield message
    for call in message.tool_calls:
        yield ToolResultMessage(call_id=call.id, name=call.name, content="done")
    yield UserMessage(content="Go on.")
