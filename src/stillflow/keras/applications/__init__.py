"""`tf.keras.applications`."""
