"""`tf.contrib.data`, as far as it is not `tf.data.experimental` by an older name."""
