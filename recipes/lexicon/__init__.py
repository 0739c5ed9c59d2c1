"""The lexicon inside the package: its build and its supplement."""
