"""`tf.contrib.deprecated`: summaries as they were before TensorFlow 1.0, tagged by the caller."""
