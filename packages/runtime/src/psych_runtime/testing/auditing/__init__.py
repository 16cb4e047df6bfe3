"""The rules of an audit, by what they are about."""
