"""Stochastic dual coordinate ascent: linear models trained example by example."""
