"""`tf.contrib.nn`: cross entropies with logits first, and dropout for self-normalizing nets."""
