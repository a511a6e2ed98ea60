"""Parts of `tf.contrib.layers` that few programs use: columns, embeddings, summaries."""
