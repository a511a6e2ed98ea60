"""`tf.keras.backend`: functions of tensors that Keras' layers are made of."""
