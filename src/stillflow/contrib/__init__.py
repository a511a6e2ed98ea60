"""tf.contrib."""
