"""Ops on tensors of strings. Strings are bytes."""
