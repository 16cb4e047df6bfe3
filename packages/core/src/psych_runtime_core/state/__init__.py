"""The state a log folds to."""
