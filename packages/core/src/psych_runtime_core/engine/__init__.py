"""What a Run does next."""
