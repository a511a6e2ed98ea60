"""Heads of `tf.contrib.learn`: losses, predictions and metrics of a kind of problem."""
