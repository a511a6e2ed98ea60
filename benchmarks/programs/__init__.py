"""Benchmark programs: one module each for TF1's API, with hand-written peers."""
