"""How much may be done at most."""

from dataclasses import dataclass


class Spent(Exception):
    """There is nothing left of a budget."""


@dataclass(slots=True)
class Budget:
    """So much is left. It is taken from before it is used."""

    left: int

    def take(self, amount: int = 1) -> None:
        """Raise `Spent` unless so much is left."""
        self.left -= amount
        if self.left < 0:
            raise Spent
