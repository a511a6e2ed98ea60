"""Quantized numbers: integers that stand for real numbers between a minimum and a maximum."""
