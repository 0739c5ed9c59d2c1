"""Duration recipe: prepare, train, evaluate (see README.md)."""
