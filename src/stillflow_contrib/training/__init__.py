"""Parts of `tf.contrib.training` that few programs use: batches of samples and of sequences."""
