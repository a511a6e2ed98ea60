"""`tf.contrib.losses.metric_learning`: losses that draw embeddings of one class together."""
