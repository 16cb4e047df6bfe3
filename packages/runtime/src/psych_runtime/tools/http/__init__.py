"""Tools that are endpoints: described by a Spec, called over HTTP."""
