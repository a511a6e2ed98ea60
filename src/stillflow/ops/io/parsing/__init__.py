"""Parsing: Examples, CSV, JSON and other things that stand in strings."""
