"""What people ask of a Run."""
