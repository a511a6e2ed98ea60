"""`tf.contrib.recurrent`: recurrent networks as functions of the library."""
