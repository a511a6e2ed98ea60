"""`tf.contrib.grid_rnn`: recurrent cells in several dimensions."""
