"""Metadata of traced runs."""
