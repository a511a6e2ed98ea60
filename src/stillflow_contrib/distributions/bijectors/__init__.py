"""`tf.contrib.distributions.bijectors`: invertible transformations of random values."""
