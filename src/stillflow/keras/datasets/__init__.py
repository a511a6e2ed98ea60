"""`tf.keras.datasets`."""
