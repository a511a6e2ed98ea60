"""Devices: which one runs an operation, moves between them, and CUDA graphs."""
