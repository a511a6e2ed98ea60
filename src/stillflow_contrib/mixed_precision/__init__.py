"""`tf.contrib.mixed_precision`: losses scaled so that gradients of half precision do not vanish."""
