"""Distribution strategies as `tf.contrib.distribute` has them."""
