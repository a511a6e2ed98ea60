"""Rewrites of a plan's steps: fusions, folding, dead-code elimination."""
