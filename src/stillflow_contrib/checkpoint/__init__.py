"""`tf.contrib.checkpoint`: objects in checkpoints of objects."""
