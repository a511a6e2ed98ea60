"""`tf.contrib.tensor_forest`: random forests that grow while examples come."""
