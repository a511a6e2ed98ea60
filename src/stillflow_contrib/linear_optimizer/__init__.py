"""`tf.contrib.linear_optimizer`: linear models that dual coordinate ascent trains."""
