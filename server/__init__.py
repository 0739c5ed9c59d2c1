"""Serving speech over HTTP."""
