"""Parts of `tf.contrib.layers` that few programs use: feature columns, embeddings, rarer layers."""
