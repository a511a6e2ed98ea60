"""Gradient tapes, and TensorFlow's other functions of this name."""
