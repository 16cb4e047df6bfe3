"""Any sequence of calls on small values."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from psych_runtime_contract.store.machine.drawing import PASSING
from psych_runtime_contract.store.machine.example import Example
from psych_runtime_contract.store.model.values import ValuesModel
from psych_runtime_core.ports.kv import KeyValue, KvItem, KvKey

COMBINED = "e\N{COMBINING ACUTE ACCENT}"
# UTF-8 puts the second behind the first, UTF-16 before it.
WIDE, BEYOND = "\N{FULLWIDTH LATIN SMALL LETTER A}", "\N{GRINNING FACE}"
Space = tuple[str, str]
Place = tuple[Space, str]
NAMES = st.sampled_from(["a", "A", "ab", "é", COMBINED, WIDE, BEYOND])
SPACES = st.tuples(st.sampled_from(["acme", "Acme"]), st.sampled_from(["tokens", "notes"]))
# Every other time the same one, so that calls meet.
PLACES = st.just((("acme", "tokens"), "a")) | st.tuples(SPACES, NAMES)
PREFIXES = st.sampled_from(["", "a", "e"])


class ValuesMachine(Example):
    """Values of two tenants in two spaces."""

    def __init__(self) -> None:
        super().__init__()
        self.values = ValuesModel(self.time.now())

    @precondition(lambda self: self.time.is_moved)
    @rule(seconds=PASSING)
    def time_passes(self, seconds: float) -> None:
        self.do(self.time.passes(seconds))

    @rule(place=PLACES, data=st.data(), ttl_seconds=st.sampled_from([None, 1, 30]))
    def puts(self, place: Place, data: st.DataObject, ttl_seconds: float | None) -> None:
        key, value = self.key(place), self.body()
        expect, now = self.expected(data, key), self.at()
        lasts = None if ttl_seconds is None else self.seconds(ttl_seconds)
        item = self.do(self.port.put(key, value, expect=expect, ttl_seconds=lasts))
        assert (item is not None) == now.holds(key, expect), "a put holds as expected"
        if item is not None:
            assert item.key == key
            now.check_put(item, value)
            assert self.nearly(item.expires_at, now.end(lasts)), "a value has its time"

    @rule(place=PLACES, data=st.data())
    def deletes(self, place: Place, data: st.DataObject) -> None:
        key, now = self.key(place), self.at()
        expect = self.expected(data, key)
        deleted = self.do(self.port.delete(key, expect=expect))
        assert deleted == now.delete(key, expect), "a deletion holds as expected"

    @rule(place=PLACES)
    def gets(self, place: Place) -> None:
        key = self.key(place)
        assert self.do(self.port.get(key)) == self.at().get(key), "a value is there until its end"

    @rule(space=SPACES, prefix=PREFIXES, limit=st.integers(1, 3))
    def lists(self, space: Space, prefix: str, limit: int) -> None:
        tenant = self.named(space[0])
        found = self.do(self.listed(tenant, space[1], prefix, limit))
        assert found == self.at().named(tenant, space[1], prefix), "a list has each value, by its bytes"

    @rule(space=SPACES, prefix=PREFIXES)
    def clears(self, space: Space, prefix: str) -> None:
        tenant = self.named(space[0])
        cleared = self.do(self.port.clear(tenant, space[1], prefix=prefix))
        assert cleared == self.at().clear(tenant, space[1], prefix)

    async def listed(self, tenant: str, space: str, prefix: str, limit: int) -> list[KvItem]:
        page = await self.port.list(tenant, space, prefix=prefix, limit=limit)
        found = [*page.items]
        while page.cursor is not None:
            page = await self.port.list(tenant, space, prefix=prefix, limit=limit, cursor=page.cursor)
            found += page.items
        return found

    @property
    def port(self) -> KeyValue:
        assert self.store.kv is not None
        return self.store.kv

    def at(self) -> ValuesModel:
        """The model, at the present time."""
        self.values.now = self.time.now()
        return self.values

    def key(self, place: Place) -> KvKey:
        (tenant, space), name = place
        return KvKey(self.named(tenant), space, name)

    def expected(self, data: st.DataObject, key: KvKey) -> int | None:
        """Nothing, absence, the present revision, or an old one."""
        item, used = self.values.items.get(key), sorted(self.values.used.get(key, ()))
        return data.draw(st.sampled_from([None, 0, item.revision if item else 1, used[0] if used else 2]))
