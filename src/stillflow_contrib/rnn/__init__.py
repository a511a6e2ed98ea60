"""Parts of `tf.contrib.rnn` that few programs use: its less common cells, and fused ones."""
