"""`tf.contrib.constrained_optimization`: minima under constraints, as games of two players."""
