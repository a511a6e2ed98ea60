"""Lookup tables."""
