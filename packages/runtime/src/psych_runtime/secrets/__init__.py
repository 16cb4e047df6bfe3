"""Secrets by name: a resolver that keeps them in memory, and what is done so that no log ever shows one."""
