"""`tf.contrib.labeled_tensor`: tensors whose axes have names, and places along them labels."""
