"""tf.contrib.learn.preprocessing: texts as numbers."""
