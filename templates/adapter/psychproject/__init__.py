"""A store for Psych: Runs are kept where you keep things."""

from psychproject.store import PsychProjectStore

__all__ = ["PsychProjectStore"]
