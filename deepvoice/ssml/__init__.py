"""SSML 1.1, the parts that one voice can do: text with markup in, a `Document` for the front end out."""

from deepvoice.ssml.reader import Ssml, read

__all__ = ["Ssml", "read"]
