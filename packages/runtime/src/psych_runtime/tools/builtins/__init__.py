"""Tools of the runtime's own. Their calls go the way of all others."""
