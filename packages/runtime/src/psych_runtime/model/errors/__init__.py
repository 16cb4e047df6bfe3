"""What an error of a provider means, and what of it is told."""
