"""The process that plays a scenario until it is killed: forked off a template that has it loaded.

Run as `python -m psych_runtime.testing.sigkill_fork module:scenario store-url`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

from psych_runtime import open_store
from psych_runtime.testing.fake_model import FakeModel
from psych_runtime.testing.ledger import EffectLedger
from psych_runtime.testing.outside import Outside
from psych_runtime.testing.play import Cast, Pace, PlayedRun, played_run
from psych_runtime.testing.scenario import Scenario
from psych_runtime_core.messages import UserMessage
from psych_runtime_core.ports.model import ModelCallContext, ModelClient, ModelRequest
from psych_runtime_core.records.turn import ModelCallFailed, ModelCallFinished
from psych_runtime_core.state.fold import apply, empty

Orders = Mapping[str, Any]


def scenario_of(target: str) -> Scenario:
    """The scenario, or what a function of that name makes. Raises `ValueError` for no `module:scenario`."""
    module, colon, name = target.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"target is {target!r}; write 'module:scenario'")
    found = getattr(import_module(module), name)
    made = found if isinstance(found, Scenario) else found()
    if not isinstance(made, Scenario):
        raise TypeError(f"{target} is a {type(made).__name__}, no Scenario")
    return made


def main(target: str, url: str) -> None:
    """Fork for each line of orders, and tell each end, until the orders end."""
    scenario = scenario_of(target)
    _warm_up(scenario, url)
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, _wake_up)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    forks: set[int] = set()
    pending = b""
    while True:
        ready, _, _ = select.select([0, awake], [], [])
        if awake in ready:
            os.read(awake, 4096)
            _reap(forks)
        if 0 in ready:
            read = os.read(0, 65_536)
            if not read:
                break
            *lines, pending = (pending + read).split(b"\n")
            forks.update(_fork(scenario, json.loads(line)) for line in lines)
    for pid in forks:
        os.kill(pid, signal.SIGKILL)


def _wake_up(number: int, frame: object) -> None:
    """A handler must be there for the wake-up to be written."""
    del number, frame


def _warm_up(scenario: Scenario, url: str) -> None:
    """Do what each fork would do again. No thread and no connection stays of it."""

    async def open_and_close() -> None:
        async with open_store(url):
            scenario.registry()

    asyncio.run(open_and_close())
    gc.freeze()


def _fork(scenario: Scenario, orders: Orders) -> int:
    pid = os.fork()
    if pid == 0:
        _carry_out(scenario, orders)
    _tell(pid=pid)
    return pid


def _reap(forks: set[int]) -> None:
    for pid in list(forks):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            forks.remove(pid)
            _tell(pid=pid, code=os.waitstatus_to_exitcode(status))


def _tell(**said: int) -> None:
    os.write(1, json.dumps(said).encode() + b"\n")


# --- in the fork -----------------------------------------------------------------------------------------


def _carry_out(scenario: Scenario, orders: Orders) -> NoReturn:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line = _Line(orders["socket"])
    try:
        asyncio.run(_play(scenario, orders, line))
    except BaseException:
        line.say(error=traceback.format_exc())
        os._exit(1)
    line.say(settled=True)
    os._exit(0)


class _Line:
    """The line to whoever may kill this process."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self.say(pid=os.getpid())

    def say(self, **message: Any) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def wait_for_the_end(self) -> None:
        """Do nothing more. Whoever is on the other side kills this process, or has gone."""
        self._socket.recv(1)
        os._exit(2)


class _Gate:
    """Names each point, before and after each commit and run of a tool. At `kill_at` nothing goes on."""

    def __init__(self, line: _Line, kill_at: str | None) -> None:
        self._line, self._kill_at = line, kill_at
        self._passed: Counter[str] = Counter()

    def __call__(self, name: str) -> None:
        port = name.partition(" ")[2]
        if not port.startswith(("commit ", "tool ")):
            return
        self._passed[name] += 1
        point = f"{name} #{self._passed[name]}"
        self._line.say(point=point)
        if point == self._kill_at:
            self._line.wait_for_the_end()


async def _play(scenario: Scenario, orders: Orders, line: _Line) -> None:
    run_id, ledger = orders["run_id"], EffectLedger(orders["ledger"])
    async with open_store(orders["url"]) as store:
        model = scenario.model()
        pass_over(model, await played_run(store, run_id, ()), scenario.spec.name)
        outside = Outside(scenario, store, run_id, lambda done: line.say(acknowledged=done))
        world = asyncio.ensure_future(outside.live())
        pace = Pace(**orders["pace"])
        tools = ledger.wrap(scenario.registry())
        cast = Cast(scenario, store, model, tools, pace, lambda head: line.say(head=head.hex()))
        await cast.drive(world, [run_id], gate=_Gate(line, orders["kill_at"]))


def pass_over(model: ModelClient, run: PlayedRun, agent: str) -> None:
    """Bring the script of a fresh model to where the dead process left it: the log says it of any script."""
    if not isinstance(model, FakeModel):
        return
    state = empty(run.header.run_id)
    for record in run.records:
        if isinstance(record, ModelCallFinished | ModelCallFailed):
            failures = state.lanes[record.lane].failures
            context = ModelCallContext(
                run.header.scope, run.header.run_id, record.lane, agent, record.turn, failures
            )
            model.pass_over(ModelRequest(record.model, (UserMessage(content="-"),)), context)
        apply(state, record)


if __name__ == "__main__":
    main(*sys.argv[1:])
