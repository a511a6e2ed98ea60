"""TensorArrays: the ops, what they keep during a run, and `tf.TensorArray`."""
