"""A request as bytes: pure, equal for equal requests."""
