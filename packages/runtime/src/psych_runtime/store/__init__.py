"""Where Runs are kept: the doors to the stores."""
