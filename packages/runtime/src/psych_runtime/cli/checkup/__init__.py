"""What the doctor looks at, by where it is found: this environment, the store, its blobs."""
