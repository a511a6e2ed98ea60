"""`tf.contrib.timeseries`: models of series in time, and estimators of them."""
