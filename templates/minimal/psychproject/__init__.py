"""An agent that answers questions about orders."""
