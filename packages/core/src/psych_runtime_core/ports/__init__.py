"""What the consumer supplies."""
