"""Python tools that programs import from ``tensorflow.python.util``."""
