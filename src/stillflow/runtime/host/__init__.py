"""The host's processors: threads, denormal numbers, and Python's stack."""
