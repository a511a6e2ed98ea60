"""`tf.contrib.fused_conv`: convolutions with all that follows them."""
