"""Debuggers' operations: copies, counts and dumps of tensors."""
