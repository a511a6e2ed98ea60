"""Parts of `tf.contrib.slim` that few programs use: its networks for images."""
