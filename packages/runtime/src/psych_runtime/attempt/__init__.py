"""One pass of a Worker over a Run."""
