"""`tf.contrib.distributions`: the distributions of `tf.distributions`, and their bijectors."""
