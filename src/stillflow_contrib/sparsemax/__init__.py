"""`tf.contrib.sparsemax`: probabilities of which many are 0."""
