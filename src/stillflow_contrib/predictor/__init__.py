"""`tf.contrib.predictor`: trained models as functions of arrays."""
