"""Our resolver before its suite, one of a stranger in five lines, and wrong ones that the suite finds out."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from pydantic import SecretStr

from psych_runtime.secrets.in_memory import InMemorySecretResolver
from psych_runtime_contract.secrets import SecretContract
from psych_runtime_core.ports.secrets import ResolvedCredential, stable_credential_identity
from psych_runtime_core.scope import Scope


class TestInMemory(SecretContract[InMemorySecretResolver]):
    def resolver(self) -> InMemorySecretResolver:
        return InMemorySecretResolver()

    async def put(self, resolver: InMemorySecretResolver, scope: Scope, name: str, value: str) -> None:
        resolver.put(scope, name, value)


class Table:
    """Secrets of tenants, and of nobody else."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        value = self.kept.get((scope.tenant, name))
        if value is None:
            return None
        identity = stable_credential_identity(Scope(tenant=scope.tenant), name, value)
        return ResolvedCredential(identity, SecretStr(value))


class TestTable(SecretContract[Table]):
    principals = False

    def resolver(self) -> Table:
        return Table()

    async def put(self, resolver: Table, scope: Scope, name: str, value: str) -> None:
        resolver.kept[scope.tenant, name] = value


# --- resolvers that are wrong in one way each ------------------------------------------------------------


class Wrong(InMemorySecretResolver):
    """Keeps secrets well; each of those below breaks one rule."""


class Gluing(Wrong):
    def put(self, scope: Scope, name: str, secret: str | SecretStr) -> None:
        super().put(Scope(tenant="all"), f"{scope.tenant}/{name}", secret)

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        return await super().resolve(Scope(tenant="all"), f"{scope.tenant}/{name}")


class Sharing(Wrong):
    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        return await super().resolve(scope, name) or await super().resolve(Scope(tenant="acme"), name)


class Caching(Wrong):
    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[tuple[Scope, str], ResolvedCredential | None] = {}

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        if (scope, name) not in self.cache:
            self.cache[scope, name] = await super().resolve(scope, name)
        return self.cache[scope, name]


class Telling(Wrong):
    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        found = await super().resolve(scope, name)
        return found and ResolvedCredential(found.secret.get_secret_value(), found.secret)


class Nameless(Wrong):
    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        found = await super().resolve(scope, name)
        return found and ResolvedCredential("one", found.secret)


class Anew(Wrong):
    looked_up = 0

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        found = await super().resolve(scope, name)
        self.looked_up += 1
        return found and ResolvedCredential(str(self.looked_up), found.secret)


class TenantFirst(Wrong):
    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        return await super().resolve(Scope(tenant=scope.tenant), name) or await super().resolve(scope, name)


class Careless(Wrong):
    def put(self, scope: Scope, name: str, secret: str | SecretStr) -> None:
        super().put(scope, name.lower(), secret)

    async def resolve(self, scope: Scope, name: str) -> ResolvedCredential | None:
        return await super().resolve(scope, name.lower())


class Tidying(Wrong):
    def put(self, scope: Scope, name: str, secret: str | SecretStr) -> None:
        assert isinstance(secret, str)
        super().put(scope, name, secret.strip() or secret)


class SuiteOf(SecretContract[Wrong]):
    def __init__(self, make: Callable[[], Wrong]) -> None:
        self.make = make

    def resolver(self) -> Wrong:
        return self.make()

    async def put(self, resolver: Wrong, scope: Scope, name: str, value: str) -> None:
        resolver.put(scope, name, value)


async def failures(suite: SuiteOf) -> set[str]:
    """The tests that a resolver fails."""
    found: set[str] = set()
    for name, test in inspect.getmembers(suite, inspect.iscoroutinefunction):
        if not name.startswith("test_"):
            continue
        values = ["s3cret-value", " naïve \n"] if "value" in inspect.signature(test).parameters else [None]
        for value in values:
            try:
                await (test() if value is None else test(value))
            except AssertionError:
                found.add(name)
    return found


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (Gluing, "test_tenants_and_names_that_look_alike_stay_apart"),
        (Sharing, "test_no_tenant_gets_the_secret_of_another"),
        (Caching, "test_a_rotated_secret_is_used_at_once_and_has_another_identity"),
        (Telling, "test_nothing_that_is_printed_shows_a_secret"),
        (Nameless, "test_two_secrets_have_two_identities"),
        (Anew, "test_an_unchanged_secret_keeps_its_identity"),
        (TenantFirst, "test_ones_own_secret_goes_before_the_tenants"),
        (Careless, "test_what_nobody_put_there_is_none"),
        (Tidying, "test_a_secret_comes_back_as_it_was_put"),
    ],
)
async def test_the_suite_finds_out_a_resolver_that_is_wrong(wrong: type[Wrong], told: str) -> None:
    assert told in await failures(SuiteOf(wrong))


async def test_the_suite_finds_nothing_wrong_with_one_that_is_right() -> None:
    assert await failures(SuiteOf(Wrong)) == set()
