"""`tf.keras.optimizers`."""
