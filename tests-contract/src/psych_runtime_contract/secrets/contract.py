"""What holds for a resolver of secrets, whoever wrote it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from itertools import product
from typing import ClassVar, Generic, TypeVar

import pytest

from psych_runtime_core.ports.secrets import ResolvedCredential, SecretResolver
from psych_runtime_core.scope import Scope

R = TypeVar("R", bound=SecretResolver)

ACME, GLOBEX = Scope(tenant="acme"), Scope(tenant="globex")
ADA, BOB = Scope(tenant="acme", principal="ada"), Scope(tenant="acme", principal="bob")
# Glued together without care, the parts of these name one secret.
LOOK_ALIKES = ("a", "a:b", "a/b", "a.b", "a|b", "a b", "b", "b:c", "b/c", "b.c", "b|c", "b c", "c", "A")


@pytest.mark.anyio
class SecretContract(ABC, Generic[R]):
    """The suite: subclass it as `Test…`, make a resolver, and say how it comes to know a secret.

    `principals=False` is for a resolver that knows secrets by tenant and name alone.
    """

    principals: ClassVar[bool] = True

    @abstractmethod
    def resolver(self) -> R:
        """A resolver that knows no secret yet."""

    @abstractmethod
    async def put(self, resolver: R, scope: Scope, name: str, value: str) -> None:
        """Make `value` the secret of the scope's principal; of its whole tenant when it names none."""

    async def found(self, resolver: R, scope: Scope, name: str) -> str | None:
        """The secret itself."""
        credential = await resolver.resolve(scope, name)
        return None if credential is None else credential.secret.get_secret_value()

    async def knowing(self, scope: Scope = ACME, value: str = "s3cret-value") -> R:
        """A resolver that knows one secret, `crm`."""
        resolver = self.resolver()
        await self.put(resolver, scope, "crm", value)
        return resolver

    async def test_what_nobody_put_there_is_none(self) -> None:
        assert await self.resolver().resolve(ACME, "crm") is None
        assert await (await self.knowing()).resolve(ACME, "CRM") is None

    @pytest.mark.parametrize("value", ["s3cret-value", "x", " naïve \n", "0", "x" * 10_000])
    async def test_a_secret_comes_back_as_it_was_put(self, value: str) -> None:
        credential = await (await self.knowing(value=value)).resolve(ACME, "crm")
        assert isinstance(credential, ResolvedCredential)
        assert credential.secret.get_secret_value() == value

    async def test_a_secret_of_a_tenant_is_that_of_all_its_people(self) -> None:
        resolver = await self.knowing()
        assert [await self.found(resolver, scope, "crm") for scope in (ACME, ADA, BOB)] == [
            "s3cret-value"
        ] * 3

    async def test_no_tenant_gets_the_secret_of_another(self) -> None:
        resolver = await self.knowing()
        for scope in (GLOBEX, Scope(tenant="globex", principal="ada"), Scope(tenant="ACME")):
            assert await resolver.resolve(scope, "crm") is None
        await self.put(resolver, GLOBEX, "crm", "theirs")
        assert await self.found(resolver, ACME, "crm") == "s3cret-value"
        assert await self.found(resolver, GLOBEX, "crm") == "theirs"

    async def test_tenants_and_names_that_look_alike_stay_apart(self) -> None:
        resolver = self.resolver()
        pairs = list(product(LOOK_ALIKES, repeat=2))
        for tenant, name in pairs:
            await self.put(resolver, Scope(tenant=tenant), name, f"{tenant!r} {name!r}")
        for tenant, name in pairs:
            assert await self.found(resolver, Scope(tenant=tenant), name) == f"{tenant!r} {name!r}"

    @pytest.mark.needs("principals")
    async def test_ones_own_secret_goes_before_the_tenants(self) -> None:
        resolver = await self.knowing()
        await self.put(resolver, ADA, "crm", "ada's own")
        assert await self.found(resolver, ADA, "crm") == "ada's own"
        assert await self.found(resolver, BOB, "crm") == "s3cret-value"
        assert await self.found(resolver, ACME, "crm") == "s3cret-value"

    @pytest.mark.needs("principals")
    async def test_nobody_gets_what_is_somebody_elses_own(self) -> None:
        resolver = await self.knowing(ADA)
        for scope in (BOB, ACME, Scope(tenant="globex", principal="ada")):
            assert await resolver.resolve(scope, "crm") is None

    async def test_a_rotated_secret_is_used_at_once_and_has_another_identity(self) -> None:
        resolver = await self.knowing()
        before = await resolver.resolve(ACME, "crm")
        await self.put(resolver, ACME, "crm", "another-value")
        after = await resolver.resolve(ACME, "crm")
        assert before is not None
        assert after is not None
        assert after.secret.get_secret_value() == "another-value"
        assert after.identity != before.identity

    async def test_an_unchanged_secret_keeps_its_identity(self) -> None:
        resolver = await self.knowing()
        identities = {credential and credential.identity for credential in await self.twice(resolver)}
        assert len(identities) == 1

    async def twice(self, resolver: R) -> list[ResolvedCredential | None]:
        """The secret, looked up two times."""
        return [await resolver.resolve(ACME, "crm") for _ in range(2)]

    async def test_two_secrets_have_two_identities(self) -> None:
        resolver = self.resolver()
        for scope, name in ((ACME, "crm"), (ACME, "erp"), (GLOBEX, "crm")):
            await self.put(resolver, scope, name, f"the secret of {scope.tenant} {name}")
        found = [await resolver.resolve(*asked) for asked in ((ACME, "crm"), (ACME, "erp"), (GLOBEX, "crm"))]
        assert len({credential.identity for credential in found if credential is not None}) == 3

    async def test_nothing_that_is_printed_shows_a_secret(self) -> None:
        credential = await (await self.knowing()).resolve(ACME, "crm")
        assert credential is not None
        for shown in (repr(credential), str(credential.secret), credential.identity):
            assert "s3cret" not in shown

    async def test_look_ups_at_once_do_not_mix(self) -> None:
        resolver = self.resolver()
        scopes = [Scope(tenant=f"tenant-{n}") for n in range(20)]
        for scope in scopes:
            await self.put(resolver, scope, "crm", f"of {scope.tenant}")
        asked = scopes * 5
        found = await asyncio.gather(*(self.found(resolver, scope, "crm") for scope in asked))
        assert found == [f"of {scope.tenant}" for scope in asked]
