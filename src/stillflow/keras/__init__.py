"""`tf.keras`."""
