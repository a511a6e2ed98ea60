"""`tf.keras.wrappers`: models for other libraries."""
