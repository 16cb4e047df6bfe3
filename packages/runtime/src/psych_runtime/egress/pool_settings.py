"""How a pool of connections is made."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypedDict

import anyio
import anyio.to_thread
import httpcore2
import httpx2

from psych_runtime.egress.connector import Connector
from psych_runtime.egress.hush import hush
from psych_runtime.egress.proxy import ProxyConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """What all pools of a transport have in common. `keepalive` is of each pool."""

    connector: Connector
    keepalive: int
    keepalive_seconds: float
    ssl_context: ssl.SSLContext | None
    proxy: ProxyConfig | None

    def __post_init__(self) -> None:
        if self.keepalive < 0 or not self.keepalive_seconds >= 0:
            raise ValueError("give keepalive and keepalive_seconds of 0 and more")

    async def tls(self, scheme: str) -> ssl.SSLContext | None:
        """What connections of a pool for `scheme` are encrypted with, if they are."""
        if scheme != "https" and not self._to_proxy_by_https:
            return None
        if self.ssl_context is not None or _system_tls.cache_info().currsize:
            return self.ssl_context or _system_tls()
        return await anyio.to_thread.run_sync(_system_tls)

    def make(
        self, tls: ssl.SSLContext | None, proxy_headers: Mapping[str, str]
    ) -> httpcore2.AsyncConnectionPool:
        """A pool without connections. How many of it are in use at once is for `SharedPool` to say."""
        hush()
        common = _Common(
            ssl_context=tls,
            max_connections=None,
            max_keepalive_connections=self.keepalive,
            keepalive_expiry=self.keepalive_seconds,
            network_backend=self.connector,
        )
        if self.proxy is None:
            return httpcore2.AsyncConnectionPool(**common)
        return httpcore2.AsyncHTTPProxy(
            proxy_url=self.proxy.url,
            proxy_headers=[(name.encode(), value.encode()) for name, value in proxy_headers.items()],
            proxy_ssl_context=tls if self._to_proxy_by_https else None,
            **common,
        )

    @property
    def _to_proxy_by_https(self) -> bool:
        return self.proxy is not None and self.proxy.url.lower().startswith("https:")


class _Common(TypedDict):
    ssl_context: ssl.SSLContext | None
    max_connections: None
    max_keepalive_connections: int
    keepalive_expiry: float
    network_backend: httpcore2.AsyncNetworkBackend


@cache
def _system_tls() -> ssl.SSLContext:
    """Trusts what the system trusts. It reads hundreds of certificates, so it is made once, off the loop."""
    return httpx2.create_ssl_context()
