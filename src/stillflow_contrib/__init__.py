"""Packages of `tf.contrib` that few programs use; `tf.contrib` imports each when it is asked for.

A package, or a part of one, lies here if at most five of 134 public TensorFlow 1.x repositories use
it; `ops` has the cards of operations that only these packages use. Nothing in `stillflow` imports
any of it but by name, in the facade's tables and in `_providers.py`: the main package can be read
without it.
"""
