"""`tf.contrib.metrics`: `tf.metrics` under older names, and metrics that are here alone."""
