"""`tf.contrib.solvers`: systems of equations whose matrix is known by its products only."""
