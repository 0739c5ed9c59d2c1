"""F0 recipe: prepare, train, evaluate (see README.md)."""
