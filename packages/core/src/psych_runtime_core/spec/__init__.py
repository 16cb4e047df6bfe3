"""Specs: agents as frozen values that name what they use and hold nothing that runs."""
