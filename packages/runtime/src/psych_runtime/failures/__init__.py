"""What failed out there: what it means, and whether trying again can help."""
