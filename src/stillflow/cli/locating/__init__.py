"""Finds the source of public names and of operations' cards."""
