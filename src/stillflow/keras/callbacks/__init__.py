"""`tf.keras.callbacks`."""
