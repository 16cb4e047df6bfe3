"""The one way out of the process: what may leave, where it may go, and the connection that carries it."""
