"""Calls of functions and functional control flow, inlined or compiled as callables."""
