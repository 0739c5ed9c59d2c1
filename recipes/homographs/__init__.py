"""Homographs: which reading of "read", "lead" or "record" a sentence means."""
