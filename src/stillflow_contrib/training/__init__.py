"""Parts of `tf.contrib.training` that few programs use: loops, batches, device strategies."""
