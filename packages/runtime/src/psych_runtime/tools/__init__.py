"""Functions as tools: from a signature to a schema, from a model's text to a call, from a value to JSON."""
