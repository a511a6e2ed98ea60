"""Ready-made estimators of `tf.contrib.learn`."""
