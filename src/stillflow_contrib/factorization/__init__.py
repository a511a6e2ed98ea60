"""`tf.contrib.factorization`: clusters of points."""
