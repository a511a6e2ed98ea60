"""tf.contrib.learn.monitors."""
