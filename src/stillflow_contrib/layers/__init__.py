"""Parts of `tf.contrib.layers` that few programs use: its own feature columns."""
