"""Models of `tf.keras.experimental` that are made already."""
