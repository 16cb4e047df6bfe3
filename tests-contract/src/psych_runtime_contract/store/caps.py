"""What a store may do without. Everything else is rule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What a store can do; a test of what it cannot is left out, and says so.

    `push`: writers wake those who watch. `durable`: what is written survives closing and opening again.
    `handles`: a second handle on the same data. `kv`, `live`: the small ports. `transactions`: admission
    within a transaction of the caller's. Of `durable` and `handles` a class overrides `another`, of
    `transactions` `joined`.
    """

    push: bool = True
    durable: bool = True
    handles: bool = True
    kv: bool = True
    live: bool = True
    transactions: bool = False
