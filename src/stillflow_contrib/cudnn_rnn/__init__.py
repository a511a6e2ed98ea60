"""`tf.contrib.cudnn_rnn`: cells that are equivalent to cuDNN's recurrent networks."""
