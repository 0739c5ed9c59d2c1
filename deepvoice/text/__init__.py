"""The text front end: text to phones, with where each came from."""
