"""`tf.contrib.estimator`: heads, and estimators that do more than others."""
