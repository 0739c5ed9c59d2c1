"""Training recipes: corpora, the five modules, and the voice they make together."""
