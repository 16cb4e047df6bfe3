"""Queries among those calls: what is found, counted, purged and erased."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from psych_runtime_contract.store.machine.calls import CallsMachine
from psych_runtime_contract.store.machine.drawing import ADMISSIONS, SLOTS, TENANTS, VERSIONS
from psych_runtime_contract.store.scenes import START
from psych_runtime_core.ports.queries import RunQuery
from psych_runtime_core.ports.runs import Lifecycle, RunHeader, RunState
from psych_runtime_core.records.facts import SuspendReason, TerminalState

Conditions = dict[str, Any]

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "principal": st.just("ada"),
    "labels": st.just({"team": "support"}),
    "version_hash": st.sampled_from(VERSIONS),
    "idempotency_key": st.sampled_from(["order", "Order"]),
    "states": st.frozensets(st.sampled_from(RunState)),
    "lifecycles": st.frozensets(st.sampled_from(Lifecycle)),
    "terminals": st.frozensets(st.sampled_from(TerminalState)),
    "waits": st.sampled_from([frozenset[SuspendReason](), frozenset({SuspendReason.APPROVAL})]),
    "blobs": st.booleans(),
    "created_before": st.just(START.replace(second=1)),
    "settled_before": st.sampled_from([START, START.replace(second=1)]),
}
OF_RUNS = ("run_ids", "root_run_id", "continues_run_id")


class QueriesMachine(CallsMachine):
    """Queries of one tenant, with up to two conditions more."""

    @rule(data=st.data(), limit=st.sampled_from([1, 1, 2, 3]))
    def finds(self, data: st.DataObject, limit: int) -> None:
        conditions = self.conditions(data)
        found = self.do(self.pages(RunQuery(**conditions, limit=limit)))
        expected = [self.model.header(run["run_id"]) for run in self.model.meant(conditions)]
        assert found == expected, "a query finds each match once, newest first"

    async def pages(self, query: RunQuery) -> list[RunHeader]:
        page = await self.store.find_runs(query)
        found = [*page.items]
        while page.cursor is not None:
            page = await self.store.find_runs(query, page.cursor)
            assert len(page.items) <= query.limit
            found += page.items
        return found

    @rule(data=st.data(), limit=st.integers(1, 2))
    def purges(self, data: st.DataObject, limit: int) -> None:
        self.purge(self.conditions(data), limit)

    @precondition(lambda self: self.settled)
    @rule(data=st.data(), whole=st.booleans(), fields=ADMISSIONS)
    def purges_or_erases_who_is_over(
        self, data: st.DataObject, whole: bool, fields: Mapping[str, Any]
    ) -> None:
        """One, all or nobody. What their keys answer from then on is asked at once."""
        one = data.draw(st.sampled_from(self.settled))
        run_ids = data.draw(st.sampled_from([{one}, {one}, {*self.settled}, set[str]()]).map(frozenset))
        if whole:
            self.purge({"run_ids": run_ids}, 1)
        else:
            self.erase({"run_ids": run_ids})
        if self.dated_keys and self.free_slots:
            self.ask_again(data, fields)

    @precondition(lambda self: self.settled and self.free_slots)
    @rule(
        data=st.data(),
        fields=ADMISSIONS,
        relation=st.sampled_from(["child", "heir", "heir"]),
        past=st.sampled_from([None, None, "over"]),
    )
    def is_kept_by_a_relative(
        self, data: st.DataObject, fields: Mapping[str, Any], relation: str, past: str | None
    ) -> None:
        """A Run that is over stays while one below it, or one that goes on from it, is open."""
        ended = self.model.runs[self.settled[0]]
        name = ended["scope"].tenant.removeprefix(f"{self.space}.")
        slot = data.draw(st.sampled_from(self.free_slots))
        drawn = {"slot": slot, "tenant": name, "relation": relation, "past": past, "key": None}
        self.admits({**fields, **drawn}, 0)
        self.purge({"run_ids": frozenset({ended["root_run_id"]})}, 1)

    @property
    def settled(self) -> list[str]:
        """The Runs that are over."""
        return [run_id for run_id, run in self.model.runs.items() if run["terminal"]]

    def purge(self, conditions: Conditions, limit: int) -> None:
        self.model.now = self.time.now()
        query, may_go = RunQuery(**conditions, limit=limit), self.model.may_go(conditions)
        foretold = self.do(self.store.purge(query, dry_run=True))
        removed = self.do(self.store.purge(query))
        assert foretold == removed, "a dry run tells what a purge removes"
        roots = [header.run_id for header in removed if header.run_id == header.root_run_id]
        assert set(roots) <= may_go, "only settled trees go, which nobody goes on from"
        assert len(roots) == min(limit, len(may_go)), "as many trees go as may"
        assert {header.run_id for header in removed} == {
            run_id for root in roots for run_id in self.model.tree(root)
        }, "a tree goes whole"
        for header in removed:
            assert header == self.model.header(header.run_id)
            self.model.remove(header.run_id)

    @rule(data=st.data())
    def erases(self, data: st.DataObject) -> None:
        self.erase(self.conditions(data))

    def erase(self, conditions: Conditions) -> None:
        self.model.now = self.time.now()
        # A page has a limit, an erasure has none.
        erased = self.do(self.store.erase(RunQuery(**conditions, limit=1)))
        assert erased == self.model.erase(conditions), "who is meant and over is erased, once"

    @rule(tenant=st.sampled_from(TENANTS))
    def counts(self, tenant: str) -> None:
        name = self.named(tenant)
        self.model.now = self.time.now()
        stats, expected = self.do(self.store.stats(tenant=name, top=3)), self.model.stats(name)
        if not self.time.is_moved:
            del expected["oldest_ready_seconds"]
        assert {field: getattr(stats, field) for field in expected} == expected
        assert not stats.capped
        listed = [(each.tenant, each.ready, each.running) for each in stats.tenants]
        assert listed == [(name, expected["ready"], expected["running"])] * bool(expected["ready"])

    def conditions(self, data: st.DataObject) -> Conditions:
        """A tenant of this example's, and what else."""
        most = data.draw(st.sampled_from([0, 0, 0, 1, 2]))
        names = data.draw(st.lists(st.sampled_from([*VALUES, *OF_RUNS]), max_size=most, unique=True))
        run_ids = frozenset(map(self.named, data.draw(st.sets(st.sampled_from(SLOTS), min_size=1))))
        of_runs = {"run_ids": run_ids, "root_run_id": min(run_ids), "continues_run_id": min(run_ids)}
        drawn = {name: of_runs[name] if name in of_runs else data.draw(VALUES[name]) for name in names}
        tenants = [run["scope"].tenant for run in self.model.runs.values()]
        return {"tenant": data.draw(st.sampled_from([*tenants, self.named(TENANTS[-1])])), **drawn}
