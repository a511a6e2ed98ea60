"""Gradient tapes, and what else TensorFlow keeps beside graphs under this name."""
