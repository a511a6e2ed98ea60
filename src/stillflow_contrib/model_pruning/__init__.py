"""`tf.contrib.model_pruning`: weights of small magnitude are set to zero in training."""
