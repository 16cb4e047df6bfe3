"""What comes back, read: pure, chunk by chunk."""
