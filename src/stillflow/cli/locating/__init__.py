"""Locations of public names' and operation cards' sources."""
