"""One suite a port, for the adapters of Psych and for a stranger's."""
