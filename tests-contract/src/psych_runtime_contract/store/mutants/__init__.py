"""Stores that are wrong in one way each, to show that the suite sees it."""

from psych_runtime_contract.store.mutants.base import Mutant
from psych_runtime_contract.store.mutants.claims import CLAIMS
from psych_runtime_contract.store.mutants.commits import COMMITS
from psych_runtime_contract.store.mutants.keys import KEYS
from psych_runtime_contract.store.mutants.leases import LEASES
from psych_runtime_contract.store.mutants.ports import PORTS
from psych_runtime_contract.store.mutants.queries import QUERIES
from psych_runtime_contract.store.mutants.rootless import ROOTLESS
from psych_runtime_contract.store.mutants.texts import TEXTS

__all__ = ["KINDS", "MUTANTS", "Mutant"]

KINDS: tuple[tuple[Mutant, ...], ...] = (COMMITS, LEASES, CLAIMS, KEYS, QUERIES, ROOTLESS, PORTS, TEXTS)
MUTANTS: tuple[Mutant, ...] = tuple(mutant for kind in KINDS for mutant in kind)
