"""Layers with Keras' arguments and defaults, which those of `tf.layers` derive from."""
