"""Branches and loops: the primitive ops, the contexts that build them, and the public functions."""
