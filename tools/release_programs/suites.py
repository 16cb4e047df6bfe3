"""Run where the suites are installed alone: they come with what judges, and without any driver."""

import sys
from importlib.util import find_spec

from psych_runtime_contract.store import StoreContract

DRIVERS = {
    "aiosqlite",
    "asyncpg",
    "genai_prices",
    "h11",
    "httpcore2",
    "httpx2",
    "redis",
    "sqlalchemy",
    "sqlite3",
}
STORES = ("psych_runtime_sql", "psych_runtime_sqlite")


def main() -> None:
    """Raise on the first thing that is not as promised."""
    assert StoreContract.caps.kv
    loaded = {name.partition(".")[0] for name in sys.modules}
    assert {"hypothesis", "psych_runtime", "pytest"} <= loaded
    assert not loaded & DRIVERS, loaded & DRIVERS
    assert not [name for name in STORES if find_spec(name)]


main()
