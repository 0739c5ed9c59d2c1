"""Grapheme-to-phoneme recipe: prepare, train, evaluate (see README.md)."""
