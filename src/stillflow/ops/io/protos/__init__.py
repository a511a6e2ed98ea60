"""Conversion of messages of any type to tensors and back."""
