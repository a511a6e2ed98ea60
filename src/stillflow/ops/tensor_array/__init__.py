"""TensorArrays: the ops, their content during a run, and `tf.TensorArray`."""
