"""`tf.contrib.bayesflow`: expectations by samples."""
