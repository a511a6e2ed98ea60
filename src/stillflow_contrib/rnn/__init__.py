"""`tf.contrib.rnn`: more cells of recurrent networks, wrappers of cells, fused cells."""
