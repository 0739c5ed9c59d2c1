"""Score any voice on any sentences: what `deepvoice evaluate` runs."""
