"""Packages of `tf.contrib` that few programs use; `tf.contrib` imports each when it is asked for.

A package lies here if at most five of 134 public TensorFlow 1.x repositories use it. Nothing in
`stillflow` imports it but the facade, by name: who reads the main package need not know it.
"""
