"""tf.distributions: probability distributions as compositions of ops."""
