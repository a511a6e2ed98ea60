"""Parts of `tf.contrib.training` that few programs use: batches, device strategies."""
