"""What a Worker does with a model's replies and errors."""
