"""What a Worker wants of its Attempts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Orders:
    """Read before anything is staged, so that a committed start is always carried out.

    `draining`: finish what is in flight, begin nothing. `stopping`: cut short what is in flight, too.
    """

    draining: bool = False
    stopping: bool = False
