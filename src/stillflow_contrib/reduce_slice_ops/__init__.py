"""`tf.contrib.reduce_slice_ops`: slices of a tensor, reduced."""
