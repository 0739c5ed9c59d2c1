"""Measurements beside other implementations: PyTorch on the same weights, and other speech programs."""
