"""Corpora and books on many machines: speaking, aligning and computing features, with Ray Data or without."""
