"""`tf.keras.metrics`."""
