"""`tf.contrib.cudnn_rnn`: cells that compute what cuDNN's recurrent networks compute."""
