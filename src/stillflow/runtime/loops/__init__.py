"""Loops compiled to `while` statements, or to one call on all iterations at once."""
